import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { commandName } from '../../gateway/cli/command-name.ts';
import { CommandFolder } from '../support/command-folder.ts';
import { processesWith } from './gateway-process.ts';

const EX_CONFIG = 78;
const localChainId = 7_310_002;
const base = { name: 'Base', chainId: 8453, upstreams: [{ name: 'a', url: 'http://127.0.0.1:1' }] };
const mine = { name: 'Mine', chainId: localChainId, upstreams: [{ name: 'anvil', spawn: 'anvil' }] };

let place: CommandFolder;

beforeEach(() => {
  place = new CommandFolder();
});
afterEach(async () => {
  await place.close();
  expect(processesWith(`--chain-id ${localChainId}`)).toEqual([]);
});

describe('a gateway does not start, and prints the reason in one line', () => {
  let taken: Server;
  let port: number;

  beforeAll(async () => {
    taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    port = (taken.address() as AddressInfo).port;
  });
  afterAll(() => taken.close());

  it('when its port is in use', async () => {
    place.withNetworks({ base, mine });
    const line = `port ${port} is in use: stop the other process, or set another PORT\n`;
    expect(await place.run(['start'], { PORT: String(port) })).toMatchObject({ code: 1, stdout: '', stderr: line });
  });

  it('when its ops port is in use', async () => {
    place.withNetworks({ base, mine });
    const line = `port ${port} is in use: stop the other process, or set another OPS_PORT\n`;
    const env = { PORT: '0', OPS_PORT: String(port) };
    expect(await place.run(['start'], env)).toMatchObject({ code: 1, stdout: '', stderr: line });
  });

  it('when its address does not belong to this machine', async () => {
    place.withNetworks({ base, mine });
    const { code, stdout, stderr } = await place.run(['start'], { PORT: '0', HOST: '192.0.2.1' });
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toBe('HOST: this machine has no address 192.0.2.1\n');
  });

  it('when no network is left', async () => {
    place.withNetworks({ mine });
    expect(await place.run(['start'], { PORT: '0', NODE_ENV: 'production', WORKERS: '1' })).toMatchObject({
      code: EX_CONFIG,
      stdout: '',
      stderr:
        'mine is left out: its upstream is a development chain, which does not start in production\nno network is left to serve\n',
    });
  });

  it('when settings are invalid', async () => {
    const env = { PORT: 'http', LOG_LEVEL: 'loud', CALL_TIMEOUT_MS: '15s' };
    expect(await place.run(['start'], env)).toMatchObject({
      code: EX_CONFIG,
      stdout: '',
      stderr:
        'PORT: expected a port from 0 to 65535\n' +
        'LOG_LEVEL: expected one of fatal, error, warn, info, debug, trace, silent\n' +
        'CALL_TIMEOUT_MS: expected a whole number from 1 to 1000000000\n',
    });
  });

  it('when REDIS_URL is invalid, without repeating its password', async () => {
    const { code, stdout, stderr } = await place.run(['start'], { PORT: '0', REDIS_URL: 'http://me:s3cret@127.0.0.1' });
    expect([code, stdout]).toEqual([EX_CONFIG, '']);
    expect(stderr).toMatch(/^REDIS_URL: expected redis:\/\/.*\n$/);
    expect(stderr).not.toContain('s3cret');
  });

  it('when network files are invalid', async () => {
    place.withNetworks({ base: 'name: Base\nchainId: 0\nupstreams:\n  - name: a\n    url: ${URL}\n', eth: '- x\n' });
    expect(await place.run(['start'])).toMatchObject({
      code: EX_CONFIG,
      stdout: '',
      stderr:
        'networks/base.yaml:2:10 chainId: expected whole number from 1 to 9007199254740991\n' +
        'networks/base.yaml:5:10 upstreams[0].url: the environment has no URL; set it, or write ${URL:-default}\n' +
        'networks/eth.yaml:1:1 the file: expected map with name, chainId and upstreams, not a list\n',
    });
  });

  it('when there are no network files', async () => {
    const line = 'nets (that is CWD/nets): the folder of network files cannot be read; set NETWORKS_DIR\n';
    const { code, stderr } = await place.run(['start'], { NETWORKS_DIR: 'nets' });
    expect([code, stderr.replace(/\(that is .*\/nets\)/, '(that is CWD/nets)')]).toEqual([EX_CONFIG, line]);
    mkdirSync(join(place.folder, 'nets'));
    expect(await place.run(['start'], { NETWORKS_DIR: 'nets' })).toMatchObject({
      code: EX_CONFIG,
      stderr: 'nets: the folder has no network file (<slug>.yaml)\n',
    });
  });

  it('when the key file of a former version is malformed', async () => {
    place.withNetworks({ base, mine });
    mkdirSync(join(place.folder, '.gatehouse'));
    writeFileSync(join(place.folder, '.gatehouse/keys.json'), '{"keys":');
    const { code, stdout, stderr } = await place.run(['start'], { PORT: '0' });
    expect([code, stdout]).toEqual([EX_CONFIG, '']);
    expect(stderr).toMatch(/^[^\n]*\.gatehouse\/keys\.json[^\n]*\n$/);
  });

  it('when its folder for keys is inside a file, and it has a key to store', async () => {
    place.withNetworks({ base, mine });
    writeFileSync(join(place.folder, 'file'), '');
    expect(await place.run(['start'], { PORT: '0', DATA_DIR: 'file/data' })).toMatchObject({
      code: EX_CONFIG,
      stdout: '',
      stderr: expect.stringMatching(/^[^\n]*file\/data\/gatehouse\.db cannot be opened \(ENOTDIR\)\n$/) as string,
    });
  });
});

it.each(['start', 'check', 'doctor'])('in production in a folder without networks, %s is an error', async (command) => {
  expect(await place.run([command], { NODE_ENV: 'production', PORT: '0' })).toEqual({
    ...{ code: EX_CONFIG, stdout: '' },
    stderr: `there is no folder ${place.folder}/networks: ${commandName} init writes it, or set NETWORKS_DIR\n`,
  });
});

describe('the command line', () => {
  it('lists its commands, with help for each', async () => {
    const { code, stdout } = await place.run(['--help']);
    expect(code).toBe(0);
    for (const command of ['start', 'demo', 'check', 'keys'])
      expect(stdout).toMatch(new RegExp(`^ {2}${command}\\b.+`, 'm'));
    const help = await place.run(['keys', 'create', '--help']);
    expect(help).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('gatehouse keys create --name alice') as string,
    });
  });

  it.each([
    [['strat'], "error: unknown command 'strat'\n(Did you mean start?)\n"],
    [['kyes', 'list'], "error: unknown command 'kyes'\n(Did you mean keys?)\n"],
    [['keys', 'lsit'], "error: unknown command 'lsit'\n(Did you mean list?)\n"],
    [['chekc'], "error: unknown command 'chekc'\n(Did you mean check?)\n"],
    [['demo', '--kye', 'x'], "error: unknown option '--kye'\n(Did you mean --key?)\n"],
    [['keys', 'create', '--name', 'x', '--jsno'], "error: unknown option '--jsno'\n(Did you mean --json?)\n"],
  ])('suggests what %j may have meant', async (args, stderr) => {
    expect(await place.run(args)).toMatchObject({ code: 1, stdout: '', stderr });
  });

  it('reports a missing argument', async () => {
    const stderr = "error: required option '--name <name>' not specified\n";
    expect(await place.run(['keys', 'create'])).toMatchObject({ code: 1, stdout: '', stderr });
  });
});
