import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { expect, it, onTestFinished } from 'vitest';
import { IssuerKeys } from '../../../gateway/auth/tokens/issuer-keys.ts';
import { simulateTime } from '../../support/simulate-time.ts';

const time = simulateTime();

it('a key set in another order is the same, so that cached tokens are not verified again', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-reordered-keys-'));
  const file = join(folder, 'jwks.json');
  const [one, other] = [
    { kty: 'EC', kid: 'one' },
    { kty: 'EC', kid: 'other' },
  ] as const;
  writeFileSync(file, JSON.stringify({ keys: [one, other] }));
  const keys = new IssuerKeys(file, 0, pino({ level: 'silent' }));
  onTestFinished(() => {
    keys.close();
    rmSync(folder, { recursive: true });
  });
  const read = async (set: readonly object[]) => {
    writeFileSync(file, JSON.stringify({ keys: set }));
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
