import { clock } from '../clock/clock.ts';
import type { KeyStore } from '../auth/stores/key-store.ts';
import type { UsageStore } from '../usage/usage-store.ts';
import { writeLine } from './backup-line.ts';

/** Numbers of keys, and of days on which a key has usage. */
export interface BackupCounts {
  readonly keys: number;
  readonly days: number;
}

/**
 * Writes all keys and their usage as JSON lines. Keys are digests, so no key can be read from a backup. Development keys are
 * left out: each gateway makes its own.
 * @throws StoreUnreachable, or the error of `write`
 */
export async function backUp(
  keys: KeyStore,
  usage: UsageStore,
  write: (text: string) => Promise<void>,
): Promise<BackupCounts> {
  await write(writeLine({ kind: 'start', at: new Date(clock.unixMs()).toISOString() }));
  // Two digests may begin with the same id.
  const ids: string[] = [];
  for (const [digest, { id, ...key }] of await keys.entries()) {
    if (key.development === true) continue;
    ids.push(id);
    await write(writeLine({ kind: 'key', digest, key }));
  }
  let days = 0;
  for await (const day of usage.entries()) {
    if (day.amounts.length === 0) continue;
    days++;
    await write(writeLine({ kind: 'usage', ...day }));
  }
  await write(writeLine({ kind: 'end', keys: ids.length, days }));
  return { keys: ids.length, days };
}
