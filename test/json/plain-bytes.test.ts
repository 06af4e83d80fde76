import { expect, it } from 'vitest';
import { isPlain } from '../../gateway/json/plain-bytes.ts';

it('bytes are plain or not wherever they are in memory', () => {
  const memory = Buffer.from(new ArrayBuffer(64));
  for (let start = 0; start < 8; start++) {
    for (let length = 0; length < 20; length++) {
      const bytes = memory.subarray(start, start + length).fill('a');
      expect(isPlain(bytes)).toBe(true);
      if (length === 0) continue;
      bytes[length - 1] = 10;
      expect(isPlain(bytes)).toBe(false);
    }
  }
});
