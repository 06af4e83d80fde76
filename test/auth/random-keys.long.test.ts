import { randomBytes } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { cleanups } from '../support/cleanups.ts';
import { openKeys } from '../support/open-keys.ts';
import { makeAuth } from './auth-setup.ts';

it('random keys from many addresses use bounded memory', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'gatehouse-'));
  cleanups.push(() => rm(dataDir, { recursive: true }));
  const auth = makeAuth(openKeys({ DATA_DIR: dataDir }));
  const random = (bytes: number): string => randomBytes(bytes).toString('hex');
  const guess = async (count: number): Promise<number> => {
    for (let done = 0; done < count; done++) await auth.try(random(16), `2001:db8:${random(2)}:${random(2)}::1`);
    collectGarbage();
    return process.memoryUsage().heapUsed;
  };
  // After the first round all bounded caches are full.
  const full = await guess(60_000);
  // 100 bytes for each key of the second round, which any entry takes.
  expect((await guess(40_000)) - full).toBeLessThan(4_000_000);
});

/** The same function that `node --expose-gc` provides. */
const collectGarbage = ((): (() => void) => {
  setFlagsFromString('--expose-gc');
  return runInNewContext('gc') as () => void;
})();
