import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readLine, writeLine } from '../../gateway/backup/backup-line.ts';
import { packageRoot, version } from '../../gateway/config/package.ts';
import { settingRows } from '../../gateway/config/settings.ts';
import { resultPrefixOf } from '../../gateway/cache/durable-cache.ts';

const page = readFileSync(join(packageRoot, 'docs/upgrading.md'), 'utf8');
const changelog = readFileSync(join(packageRoot, 'CHANGELOG.md'), 'utf8');
const stored = page.slice(page.indexOf('## Stored data'), page.indexOf('## Versions'));
const sources = readdirSync(join(packageRoot, 'gateway'), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts'))
  .map((name) => readFileSync(join(packageRoot, 'gateway', name), 'utf8'))
  .join('\n');

describe('docs/upgrading.md', () => {
  it('has notes of this version, and of no version that does not exist', () => {
    const noted = [...page.matchAll(/^### (\S+)$/gm)].map(([, name]) => name);
    const released = [...changelog.matchAll(/^## (\d+\.\d+\.\d+)\b/gm)].map(([, name]) => name);
    expect(noted).toContain(version);
    expect(noted.filter((name) => name !== version && !released.includes(name))).toEqual([]);
  });

  it('names all Redis keys that the gateway has, and only those', () => {
    const inCode = new Set([...sources.matchAll(/['`](gatehouse:[a-z]+)(?=[:'`$])/g)].map(([, name = '']) => name));
    const named = [...stored.matchAll(/`(gatehouse:[a-z]+)/g)].map(([, name = '']) => name);
    expect(named.sort()).toEqual([...inCode].sort());
  });

  it('names all files of DATA_DIR that have keys and usage', () => {
    for (const name of ['audit.jsonl', 'gatehouse.db']) expect(stored).toContain(`\`${name}\``);
  });

  it('names the format of a backup, of which another version is rejected', () => {
    const start = JSON.parse(writeLine({ kind: 'start', at: new Date().toISOString() })) as Record<string, unknown>;
    expect(stored).toContain(`\`${JSON.stringify({ format: start['format'], version: start['version'] })}\``);
    expect(readLine(JSON.stringify({ ...start, version: Number(start['version']) + 1 }))).toEqual(expect.any(String));
  });

  it('shared cache entries have the version in their name', () => {
    expect(resultPrefixOf('base')).toContain(`:${version}:`);
  });

  it('has the defaults of the code', () => {
    const bytes = settingRows.find(({ name }) => name === 'BODIES_MAX_BYTES')?.default;
    expect(page).toContain(`\`BODIES_MAX_BYTES\` is ${Number(bytes) / 1e6} MB`);
  });
});
