import { spawn, spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { packageRoot } from '../../gateway/config/package.ts';
import { tracked } from '../support/child-processes.ts';

const compiling = 'Compiling the gateway: only at the first start, and after changes of its sources …\n';

let root: string;

// Uses the real bin/gatehouse.js and rolldown.config.js, with a main.ts of one line.
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'gatehouse-compile-'));
  for (const name of ['package.json', 'tsconfig.json', 'rolldown.config.js', 'bin']) {
    cpSync(join(packageRoot, name), join(root, name), { recursive: true });
  }
  symlinkSync(join(packageRoot, 'node_modules'), join(root, 'node_modules'));
  for (const folder of ['gateway', 'schemas']) mkdirSync(join(root, folder));
  writeFileSync(join(root, 'schemas/other.ts'), 'export const other = 1;\n');
  writeMain('one');
});
afterAll(() => {
  rmSync(root, { recursive: true, force: true });
});

// Each test continues from the state of the previous one.
describe('bin/gatehouse.js', () => {
  it('compiles once if several processes start at once', async () => {
    const outputs = await Promise.all([start(), start(), start()]);
    expect(outputs.sort()).toEqual([`${compiling}one\n`, 'one\n', 'one\n']);
    expect(existsSync(join(root, 'dist/.bundling'))).toBe(false);
  });

  it('compiles once if only file times have changed', async () => {
    const before = builtAt();
    const now = new Date();
    utimesSync(join(root, 'schemas/other.ts'), now, now);
    expect(await start()).toBe(`${compiling}one\n`);
    const after = builtAt();
    expect(after).toBeGreaterThan(before);
    expect(await start()).toBe('one\n');
    expect(builtAt()).toBe(after);
  });

  it('shows the errors of the syntax and ends, at each start', async () => {
    writeFileSync(join(root, 'gateway/main.ts'), "console.log('three');\nconst text = ;\n");
    for (const time of [1, 2]) {
      const shown = await start();
      expect([time, shown]).toEqual([time, expect.stringContaining('gateway/main.ts:2:14')]);
      expect(shown).not.toMatch(/^three$/m);
    }
  });

  it('compiles changed files, also after a process that was killed while compiling', async () => {
    writeMain('four');
    writeFileSync(join(root, 'dist/.bundling'), String(spawnSync(process.execPath, ['--version']).pid));
    expect(await start()).toBe(`${compiling}four\n`);
  });
});

function writeMain(text: string): void {
  writeFileSync(join(root, 'gateway/main.ts'), `console.log('${text}');\n`);
}

function builtAt(): number {
  return statSync(join(root, 'dist/bundle/main.js')).mtimeMs;
}

/** @returns the whole output */
function start(): Promise<string> {
  const child = tracked(
    spawn(process.execPath, [join(root, 'bin/gatehouse.js')], {
      env: { ...process.env, npm_lifecycle_event: 'start' },
      stdio: ['ignore', 'pipe', 'pipe'],
    }),
  );
  let printed = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => (printed += text));
  }
  return new Promise((resolve) =>
    child.once('close', () => {
      resolve(printed);
    }),
  );
}
