import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { packageRoot } from '../../gateway/config/package.ts';
import { findProgram } from '../support/find-program.ts';
import { programs } from '../support/programs.ts';

const folder = join(packageRoot, 'deploy', 'prometheus');
const testFiles = readdirSync(folder).filter((name) => name.endsWith('.test.yml'));

let promtool: string;
beforeAll(() => {
  promtool = findProgram(programs.promtool);
}, 300_000);

it.each([
  ['reads the configuration', ['check', 'config', join(folder, 'prometheus.yml')]],
  ...testFiles.map((name) => [`runs ${name}`, ['test', 'rules', join(folder, name)]] as const),
] as const)('promtool %s', (_, command) => {
  expect(execFileSync(promtool, command, { encoding: 'utf8' })).toContain('SUCCESS');
});
