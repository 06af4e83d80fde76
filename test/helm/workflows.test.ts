import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, expect, it, onTestFinished } from 'vitest';
import { packageRoot } from '../../gateway/config/package.ts';
import { findGoProgram } from '../support/go-program.ts';

const ACTIONLINT_VERSION = '1.7.12';
const folder = join(packageRoot, '.github/workflows');

let actionlint: string;

beforeAll(() => {
  actionlint = findGoProgram({
    name: 'actionlint',
    package: 'github.com/rhysd/actionlint/cmd/actionlint',
    version: ACTIONLINT_VERSION,
    versionArgs: ['--version'],
    versionText: ACTIONLINT_VERSION,
  });
});

const lint = (...files: string[]) => {
  const { status, stdout } = spawnSync(actionlint, ['-no-color', ...files], { encoding: 'utf8' });
  return { status, stdout };
};

it('actionlint accepts all workflows', () => {
  const files = readdirSync(folder).map((name) => join(folder, name));
  expect(files.length).toBeGreaterThan(0);
  expect(lint(...files)).toEqual({ status: 0, stdout: '' });
});

it('actionlint finds a mistake', () => {
  const place = mkdtempSync(join(tmpdir(), 'gatehouse-workflow-'));
  onTestFinished(() => {
    rmSync(place, { recursive: true });
  });
  const file = join(place, 'wrong.yml');
  writeFileSync(
    file,
    'on: push\njobs:\n  a:\n    runs-on: ubuntu-24.04\n    steps: [{ run: "echo ${{ secret.A }}" }]\n',
  );
  expect(lint(file).status).toBe(1);
});
