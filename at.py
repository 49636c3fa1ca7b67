import atexit, sys, time
def f():
    t=time.time()
    import torch.distributed as d
    from datetime import timedelta
    s=d.TCPStore("127.0.0.1",0,None,True,wait_for_workers=False)
    c=d.TCPStore("127.0.0.1",s.port,None,False,timeout=timedelta(seconds=5),wait_for_workers=False)
    c.set("a","b"); print(c.check(["a"]), time.time()-t)
atexit.register(f)
import equirate
print('torch' in sys.modules)
raise ValueError
