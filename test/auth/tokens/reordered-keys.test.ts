import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { expect, it, onTestFinished } from 'vitest';
import { IssuerKeys, KeySetUnavailable } from '../../../gateway/auth/tokens/issuer-keys.ts';
import { simulateTime } from '../../support/simulate-time.ts';

const time = simulateTime();

/** Keys of an issuer in a file, with this content at first. */
function open(content: unknown) {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-issuer-keys-'));
  const file = join(folder, 'jwks.json');
  const write = (value: unknown): void => {
    writeFileSync(file, JSON.stringify(value));
  };
  write(content);
  const lines: string[] = [];
  const keys = new IssuerKeys(file, 0, pino({}, { write: (line) => void lines.push(line) }));
  onTestFinished(() => {
    keys.close();
    rmSync(folder, { recursive: true });
  });
  return { keys, write, lines };
}

it('a key set in another order is the same, so that cached tokens are not verified again', async () => {
  const [one, other] = [
    { kty: 'EC', kid: 'one' },
    { kty: 'EC', kid: 'other' },
  ] as const;
  const { keys, write } = open({ keys: [one, other] });
  const read = async (set: readonly object[]) => {
    write({ keys: set });
    await time().advance(10_000);
    await keys.refresh();
    return keys.current();
  };
  await keys.refresh();
  const first = keys.current();
  expect(first).toBeDefined();
  expect(await read([other, one])).toBe(first);
  expect(await read([other])).not.toBe(first);
});

it('a key set without keys is read, so that it can be confirmed that no key fits', async () => {
  const { keys } = open({ keys: [] });
  await keys.refresh();
  expect(keys.current()).toBeDefined();
});

it('a key set without the member `keys` is logged with the code of its error', async () => {
  const { keys, lines } = open({});
  await expect(keys.refresh()).rejects.toThrow(KeySetUnavailable);
  expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([{ error: 'ERR_JWKS_INVALID' }]);
});
