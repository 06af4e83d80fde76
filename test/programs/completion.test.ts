import { execFile } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CommandFolder } from '../support/command-folder.ts';
import { findProgram } from '../support/find-program.ts';
import { programs } from '../support/programs.ts';

/** Types lines into an interactive shell on a pseudo-terminal of zsh, and prints what the shell shows. */
const driver = `
zmodload zsh/zpty
zpty shell "$1"
for line in "\${@:2}"; do zpty -w shell "$line"; done
while zpty -r shell text; do print -rn -- "$text"; done`;

let place: CommandFolder;
beforeAll(() => {
  place = new CommandFolder();
  mkdirSync(join(place.folder, 'bin'));
  for (const name of ['gatehouse', 'gatehouse-rpc']) {
    const path = join(place.folder, 'bin', name);
    writeFileSync(path, '#!/bin/sh\necho "got <$*>"\n');
    chmodSync(path, 0o755);
  }
});
afterAll(() => place.close());

/** Types lines into a shell that has read the script of \`gatehouse completion\`. @returns what it shows */
async function type(shell: 'bash' | 'zsh', lines: readonly string[]): Promise<string> {
  const { stdout: script, code } = await place.run(['completion', shell]);
  expect(code).toBe(0);
  const file = join(place.folder, `completion.${shell}`);
  writeFileSync(file, script);
  const start = { bash: 'bash --noprofile --norc -i', zsh: 'zsh -f -i' }[shell];
  // ZDOTDIR and HOME: zsh writes the functions that it found there.
  const env = {
    PATH: [join(place.folder, 'bin'), process.env['PATH']].join(delimiter),
    ...{ HOME: place.folder, ZDOTDIR: place.folder, TERM: 'dumb' },
  };
  const args = ['-f', '-c', driver, 'driver', start, `source '${file}'`, ...lines, 'exit'];
  const { stdout } = await promisify(execFile)(findProgram(programs.zsh), args, { env, timeout: 30_000 });
  return stdout;
}

describe.each(['bash', 'zsh'] as const)('the completion of %s', (shell) => {
  it('completes commands, subcommands and options by the tab key', async () => {
    const shown = await type(shell, [
      'gatehouse ver',
      'gatehouse stat\t',
      'gatehouse upstreams dr\tmain node --fo',
      'gatehouse keys list --te\tacme',
      'gatehouse upstreams drain main node --forc\t',
      'gatehouse events --si\t1h',
      'gatehouse-rpc ev\t',
    ]);
    const got = [...shown.matchAll(/got <(.*?)>/g)].map(([, args]) => args?.trim());
    expect(got).toEqual([
      'ver',
      'status',
      'upstreams drain main node --fo',
      'keys list --team acme',
      'upstreams drain main node --force',
      'events --since 1h',
      'events',
    ]);
  });

  it('lists the candidates of an ambiguous word', async () => {
    const shown = await type(shell, ['gatehouse keys revoke\t\t']);
    expect(shown).toMatch(/revoke +revoke-tokens|revoke-tokens +revoke/);
  });
});

it('there is no script for another shell', async () => {
  expect(await place.run(['completion', 'fish'])).toMatchObject({ code: 1, stdout: '' });
});
