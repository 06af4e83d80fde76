import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { version } from '../../gateway/config/package.ts';
import { CommandFolder } from '../support/command-folder.ts';

const commands = ['start', 'demo', 'check', 'doctor', 'init', 'networks add', 'keys create', 'keys usage'];

let place: CommandFolder;

beforeEach(() => {
  place = new CommandFolder().withNetworks({
    base: { name: 'Base', chainId: 8453, upstreams: [{ name: 'away', url: 'http://127.0.0.1:1' }] },
  });
});
afterEach(() => place.close());

describe('the command line', () => {
  it('prints its version', async () => {
    expect(await place.run(['--version'])).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' });
  });

  it('without a command prints the help', async () => {
    const { code, stdout, stderr } = await place.run([]);
    expect([code, stderr]).toEqual([0, '']);
    for (const command of commands) expect(stdout).toContain(`  ${command.split(' ')[0]}`);
  });

  it('has at most 80 options', async () => {
    const { stdout } = await place.run(['completion', 'bash']);
    const words = [...stdout.matchAll(/words='([^']*)' ;;/g)].flatMap(([, text = '']) => text.split(' '));
    const options = new Set(words.filter((word) => word.startsWith('--')));
    expect(options).toContain('--networks');
    expect(options.size).toBeLessThanOrEqual(80);
  });

  it.each(commands)('%s has help with an example', async (command) => {
    const { code, stdout } = await place.run([...command.split(' '), '--help']);
    expect(code).toBe(0);
    expect(stdout).toMatch(new RegExp(`\nExamples:\n  gatehouse ${command}`));
  });
});
