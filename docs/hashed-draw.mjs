// The hashed draw "splitmix64-1": which member of a mixture decides a row. Specified in docs/deploying.md.
const MASK = (1n << 64n) - 1n;
const mix = (z) => {
  z = (z + 0x9e3779b97f4a7c15n) & MASK;
  z = ((z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n) & MASK;
  z = ((z ^ (z >> 27n)) * 0x94d049bb133111ebn) & MASK;
  return z ^ (z >> 31n);
};
const bits = (x) => new BigUint64Array(new Float64Array([x]).buffer)[0];
const salted = (hash, salt) => mix((mix(hash ^ salt) + salt) & MASK);
const uniform = (hash) => Number(hash >> 11n) * 2 ** -53;
const IV = "6a09e667f3bcc908 bb67ae8584caa73b 3c6ef372fe94f82b a54ff53a5f1d36f1 510e527fade682d1 9b05688c2b3e6c1f 1f83d9abfb41bd6b 5be0cd19137e2179".split(" ").map((h) => BigInt("0x" + h));
const SIGMA = "0123456789abcdef ea489fd61c02b753 b8c052fdae367194 7931dcbe265a40f8 905724afe1bc683d 2c6a0b834d75fe19 c51fed4a0763928b db7ec13950f4862a 6fe9b308c2d714a5 a2847615fb9e3cd0 0123456789abcdef ea489fd61c02b753".split(" ");
const rotate = (x, n) => ((x >> n) | (x << (64n - n))) & MASK;
const blake2b = (bytes) => { // 8 bytes long, as a little-endian number
  const h = [IV[0] ^ 0x01010008n, ...IV.slice(1)], blocks = Math.max(1, Math.ceil(bytes.length / 128));
  for (let b = 0; b < blocks; b++) {
    const block = new Uint8Array(128), last = b === blocks - 1;
    block.set(bytes.subarray(128 * b, 128 * b + 128));
    const m = new BigUint64Array(block.buffer), v = [...h, ...IV];
    v[12] ^= BigInt(last ? bytes.length : 128 * (b + 1));
    if (last) v[14] ^= MASK;
    for (const s of SIGMA) for (let i = 0; i < 8; i++) {
      const [a, p, c, d] = i < 4 ? [i, i + 4, i + 8, i + 12] : [i - 4, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4];
      for (const [k, r, t] of [[0, 32n, 24n], [1, 16n, 63n]]) {
        v[a] = (v[a] + v[p] + m[parseInt(s[2 * i + k], 16)]) & MASK; v[d] = rotate(v[d] ^ v[a], r);
        v[c] = (v[c] + v[d]) & MASK; v[p] = rotate(v[p] ^ v[c], t);
      }
    }
    for (let i = 0; i < 8; i++) h[i] ^= v[i] ^ v[i + 8];
  }
  return h[0];
};
const single = (x) => Math.fround(Number.isNaN(x) ? -3.4e38 : x);
const rowHash = (row) => mix(row.map(single).reduce(
  (sum, x, k) => (x === 0 ? sum : (sum + mix(bits(x) ^ mix(BigInt(k)))) & MASK), 0n));
export const drawByRow = (row, salt) => uniform(salted(rowHash(row), BigInt(salt)));
export const drawByKey = (key, salt) => uniform(salted(blake2b(new TextEncoder().encode(String(key))), BigInt(salt)));
export const member = (weights, u, total = 0) => weights.findIndex((w, k) => (total += w) > u || k === weights.length - 1);
