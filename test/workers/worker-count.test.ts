import { describe, expect, it } from 'vitest';
import { readSettings, settingRows, shareOf } from '../../gateway/config/settings.ts';
import { settingsOfWorker, workersOf } from '../../gateway/workers/worker-count.ts';

const gib = 2 ** 30;
const production = { NODE_ENV: 'production' };

describe('the number of workers', () => {
  it.each([
    ['the whole cores of the quota, in production', production, 2.5, 8 * gib, 2],
    ['one at least', production, 0.5, 8 * gib, 1],
    ['one for each 256 MiB at most', production, 64, gib, 4],
    ['one for each 256 MiB of MEMORY_LIMIT_MB at most', { ...production, MEMORY_LIMIT_MB: '512' }, 64, gib, 2],
    ['one without production', {}, 8, 8 * gib, 1],
    ['WORKERS', { ...production, WORKERS: '3' }, 2, gib, 3],
    ['WORKERS without production', { WORKERS: '2' }, 8, 8 * gib, 2],
  ])('is %s', (_name, env, cores, memoryBytes, expected) => {
    expect(workersOf(readSettings(env), { cores, memoryBytes })).toBe(expected);
  });
});

describe('the settings of a worker', () => {
  const settings = readSettings({ CONNECTIONS_MAX: '1001', BODIES_MAX_BYTES: '1000', CALL_TIMEOUT_MS: '700' });

  it('have its share of what bounds the machine', () => {
    const { CONNECTIONS_MAX, BODIES_MAX_BYTES } = shareOf(settings, 2);
    expect([CONNECTIONS_MAX, BODIES_MAX_BYTES]).toEqual([500, 500]);
  });

  it('are otherwise those of the gateway', () => {
    const divided = new Set(settingRows.filter(({ isDivided }) => isDivided === true).map(({ name }) => name));
    const share = Object.entries(shareOf(settings, 2)).filter(([name]) => !divided.has(name));
    expect(share).toEqual(Object.entries(settings).filter(([name]) => !divided.has(name)));
  });

  it('have space for the largest response in the budget of bytes', () => {
    const machine = { cores: 16, memoryBytes: 16 * gib };
    const bytesOf = (env: Record<string, string>, workers: number): number =>
      settingsOfWorker(readSettings(env), workers, machine).BODIES_MAX_BYTES;
    expect(bytesOf({}, 2)).toBe(64_000_000);
    expect(bytesOf({}, 16)).toBe(64_000_000);
    expect(bytesOf({ BODIES_MAX_BYTES: '640000000' }, 4)).toBe(160_000_000);
    expect(bytesOf({ BODIES_MAX_BYTES: '1000' }, 2)).toBe(1_000);
  });

  it('have a part of the memory of the container, without what the primary needs', () => {
    const machine = { cores: 2, memoryBytes: gib };
    expect(settingsOfWorker(settings, 2, machine).MEMORY_LIMIT_MB).toBe(480);
    expect(settingsOfWorker({ ...settings, MEMORY_LIMIT_MB: 564 }, 2, machine).MEMORY_LIMIT_MB).toBe(250);
  });
});
