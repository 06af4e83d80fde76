import { expect, it } from 'vitest';
import { commandNameOf } from '../../gateway/cli/command-name.ts';

it.each([
  ['npm start in a checkout', '/app/bin/gatehouse.js', 'node bin/gatehouse.js'],
  ['npx', '/folder/node_modules/.bin/gatehouse', 'npx gatehouse-rpc'],
  ['npx of the registry', '/cache/_npx/1f/node_modules/.bin/gatehouse-rpc', 'npx gatehouse-rpc'],
  ['a global installation', '/usr/local/bin/gatehouse', 'gatehouse'],
  ['a container', '/app/dist/bundle/main.js', 'node dist/bundle/main.js'],
])('texts show the command as in %s', (_, script, expected) => {
  expect(commandNameOf(script, '/app')).toBe(expected);
});
