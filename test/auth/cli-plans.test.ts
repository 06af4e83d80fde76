import { afterEach, beforeEach, expect, it } from 'vitest';
import { CommandFolder } from '../support/command-folder.ts';

const createdWith = { gold: { rate: 100 }, acme: { rate: 100, team: 'acme' } };

let place: CommandFolder;
beforeEach(() => {
  place = new CommandFolder().withNetworks({ auth: { plans: createdWith } });
});
afterEach(() => place.close());

/** Creates a key. @returns its id */
async function createKey(...options: readonly string[]): Promise<string> {
  const { stdout } = await place.run(['keys', 'create', '--name', 'a', '--json', ...options]);
  return (JSON.parse(stdout) as { id: string }).id;
}

it('an invalid auth.yaml stops neither keys list, show and revoke, nor their output: it is a problem of keys with a plan', async () => {
  const [planned, plain] = [await createKey('--plan', 'gold'), await createKey()];
  place.withNetworks({ auth: '{ plans: [' });
  const listed = await place.run(['keys', 'list']);
  expect([listed.code, listed.stderr]).toEqual([0, '']);
  expect(listed.stdout).toMatch(new RegExp(`${planned}.* its plan is not found in NETWORKS_DIR\n`));
  expect(listed.stdout).toMatch(new RegExp(`${plain}.* active\n`));
  const shown = await place.run(['keys', 'show', planned, '--json']);
  expect(JSON.parse(shown.stdout)).toMatchObject({
    mistakes: [expect.stringMatching(/^plan: cannot be read: .*auth\.yaml/)],
  });
  const rotated = await place.run(['keys', 'rotate', planned]);
  expect([rotated.code, rotated.stdout, rotated.stderr]).toEqual([78, '', expect.stringContaining('auth.yaml')]);
  const revoked = await place.run(['keys', 'revoke', planned, plain, '--json']);
  expect([revoked.code, revoked.stderr]).toEqual([0, '']);
  const records = revoked.stdout.trimEnd().split('\n');
  expect(records.map((line) => (JSON.parse(line) as { id: string }).id)).toEqual([planned, plain]);
});

it('a key whose plan is in no auth.yaml of this machine is not rotated, and the error names the plan', async () => {
  const planned = await createKey('--plan', 'gold');
  place.withNetworks({ auth: {} });
  const rotated = await place.run(['keys', 'rotate', planned]);
  expect([rotated.code, rotated.stderr]).toEqual([1, expect.stringMatching(/^plan: expected the name of a plan/)]);
});
