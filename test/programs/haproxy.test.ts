import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { packageRoot } from '../../gateway/config/package.ts';
import { findProgram } from '../support/find-program.ts';
import { programs } from '../support/programs.ts';

const text = readFileSync(join(packageRoot, 'deploy/compose.scaled.yml'), 'utf8').replaceAll('!reset ', '');
const { services } = parse(text) as { services: { balancer: { environment: Record<string, string> } } };

it.each([services.balancer.environment, {}])('HAProxy accepts deploy/haproxy.cfg with %j', (env) => {
  const args = ['-c', '-f', join(packageRoot, 'deploy/haproxy.cfg')];
  const { status, stderr } = spawnSync(findProgram(programs.haproxy), args, { env: env as NodeJS.ProcessEnv });
  expect([status, stderr.toString()]).toEqual([0, '']);
});
