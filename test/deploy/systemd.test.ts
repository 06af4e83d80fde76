import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { packageRoot } from '../../gateway/config/package.ts';
import { drainDelayOf, readSettings, settingRows } from '../../gateway/config/settings.ts';

const lines = readFileSync(join(packageRoot, 'deploy/systemd/gatehouse.service'), 'utf8').split('\n');
const valuesOf = (name: string): string[] =>
  lines.filter((line) => line.startsWith(`${name}=`)).map((line) => line.slice(name.length + 1));
const environment = Object.fromEntries(
  valuesOf('Environment')
    .flatMap((value) => value.split(' '))
    .map((pair) => pair.split('=') as [string, string]),
);

describe('the systemd unit', () => {
  it('sets existing settings to valid values, for production', () => {
    const known = settingRows.map(({ name }) => name);
    expect(Object.keys(environment).filter((name) => !known.includes(name))).toEqual([]);
    expect(readSettings(environment)).toMatchObject({ NODE_ENV: 'production', OPS_PORT: 9464 });
  });

  it('gives the gateway more time to stop than it can take, and does not restart an invalid configuration', () => {
    const settings = readSettings(environment);
    const longestMs = drainDelayOf(settings) + 2 * settings.DRAIN_TIMEOUT_MS;
    expect(Number(valuesOf('TimeoutStopSec')[0]) * 1000).toBeGreaterThan(longestMs);
    expect(valuesOf('RestartPreventExitStatus')).toEqual(['78']);
  });

  it('runs the command of the package, and is in the package', () => {
    const { bin, files } = JSON.parse(readFileSync(join(packageRoot, 'package.json'), 'utf8')) as {
      bin: Record<string, string>;
      files: string[];
    };
    expect(valuesOf('ExecStart')).toEqual(['/usr/bin/env gatehouse start']);
    expect(existsSync(join(packageRoot, bin['gatehouse'] ?? ''))).toBe(true);
    expect(files).toContain('deploy');
  });
});
