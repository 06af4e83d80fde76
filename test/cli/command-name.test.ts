import { expect, it } from 'vitest';
import { commandNameOf } from '../../gateway/cli/command-name.ts';

it.each([
  ['npm start in a checkout', '/app/bin/gatehouse.js', { npm_command: 'run-script' }, 'npx gatehouse-rpc'],
  ['npx', '/folder/node_modules/.bin/gatehouse-rpc', { npm_command: 'exec' }, 'npx gatehouse-rpc'],
  ['a global installation', '/usr/local/bin/gatehouse', {}, 'gatehouse'],
  ['a container', 'dist/gateway/main.js', {}, 'node dist/gateway/main.js'],
])('texts show the command as in %s', (_, script, env, expected) => {
  expect(commandNameOf(script, env)).toBe(expected);
});
