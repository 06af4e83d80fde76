import { expect, it } from 'vitest';
import { Secrets } from '../../gateway/upstreams/transport/credentials.ts';
import { partsOf } from '../../gateway/upstreams/upstream.ts';

const STEP_BYTES = 262_144;
const credential = 'k3yOfOur';
const secrets = new Secrets({ hosts: [], credentials: [credential] });

it('each byte of a large response of backslashes is looked at once', () => {
  let reads = 0;
  const counted = new Proxy(Buffer.alloc(4 * STEP_BYTES, '\\'), {
    get: (target, name) => {
      reads++;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
  const parts = [...partsOf(counted, credential.length)];
  expect(parts).toHaveLength(4);
  expect(reads).toBeLessThan(4.1 * STEP_BYTES);
});

it('an escaped credential is found at each place, and a backslash before it that is escaped is no escape', () => {
  const escaped = Array.from(credential, (char) => `u00${char.charCodeAt(0).toString(16)}`).join('\\');
  // About the start of the third part, and about the end of the second one.
  for (const offset of [-58, -57, -56, -55, -54, -53, -52, -51, -50, -20, -19, -2, -1, 0, 1]) {
    const backslashes = 2 * STEP_BYTES + offset;
    const body = Buffer.from(`"${'\\'.repeat(backslashes)}${escaped}"`);
    const parts = [...partsOf(body, credential.length)];
    const isFound = parts.some((part) => secrets.areIn(part.toString('latin1')));
    expect([backslashes, isFound]).toEqual([backslashes, backslashes % 2 === 1]);
  }
});
