import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { curlLine } from '../../gateway/cli/curl-line.ts';
import { demoLines, removeDemo, writeDemo } from '../../local-chain/demo.ts';
import { startAnvil, type Anvil } from '../support/anvil.ts';
import { startFakeNode, type FakeNode } from '../support/fake-node.ts';

const run = promisify(execFile);
const key = 'gh_0123456789abcdef';

let anvil: Anvil;
let dataDir: string;
const file = () => join(dataDir, 'demo.json');

beforeAll(async () => {
  anvil = await startAnvil();
});
afterAll(() => anvil.stop());
beforeEach(() => {
  dataDir = join(mkdtempSync(join(tmpdir(), 'gatehouse-demo-')), 'data');
});
afterEach(() => {
  rmSync(dirname(dataDir), { recursive: true });
});

describe('demo.json', () => {
  it('is readable only by its owner, also if it replaces another file', () => {
    write('http://127.0.0.1:8545/local');
    writeFileSync(file(), 'old', { mode: 0o644 });
    write('http://127.0.0.1:8545/local');
    expect(statSync(file()).mode & 0o777).toBe(0o600);
    expect(JSON.parse(readFileSync(file(), 'utf8'))).toMatchObject({ key, chain: anvil.chain });
  });

  it('is removed by its own gateway only', () => {
    write('http://127.0.0.1:8545/local');
    removeDemo(dataDir);
    expect(() => statSync(file())).toThrow('ENOENT');
    removeDemo(dataDir);

    write('http://127.0.0.1:8545/local');
    setPid(process.ppid);
    removeDemo(dataDir);
    expect(statSync(file()).isFile()).toBe(true);
  });

  it('of another gateway that runs in the same folder stays', () => {
    write('http://127.0.0.1:8545/local');
    setPid(process.ppid);
    write('http://127.0.0.1:9999/local');
    expect(readFileSync(file(), 'utf8')).toContain('127.0.0.1:8545');
    setPid(spawnSync(process.execPath, ['--version']).pid);
    write('http://127.0.0.1:9999/local');
    expect(readFileSync(file(), 'utf8')).toContain('127.0.0.1:9999');
  });
});

describe('gatehouse demo', () => {
  it('has no lines if no gateway runs, the gateway was killed, or the file is damaged', () => {
    expect(demoLines(dataDir)).toBeUndefined();
    write('http://127.0.0.1:8545/local');
    setPid(spawnSync(process.execPath, ['--version']).pid);
    expect(demoLines(dataDir)).toBeUndefined();
    for (const text of ['', 'null', '{}']) {
      writeFileSync(file(), text);
      expect(demoLines(dataDir)).toBeUndefined();
    }
  });

  it('prints a comment before each line, safe to paste into zsh', () => {
    write('http://127.0.0.1:8545/local');
    const lines = demoLines(dataDir) ?? [];
    lines.forEach((line, at) => {
      if (at % 2 === 0) expect(line).toMatch(/^# [\w ,.:#-]+$/);
      else expect(line).toMatch(/^(# )?curl /);
    });
    expect(lines.at(-1)).toContain(`# curl -sSw '\\n' http://127.0.0.1:8545/zksync-era/v3/${key} `);
  });

  describe('prints lines that a shell runs unchanged', () => {
    let gateway: FakeNode;

    // A gateway replacement that forwards each call to the real chain.
    beforeEach(async () => {
      gateway = await startFakeNode({ chainId: 1337 });
      gateway.always(async ({ response }) => {
        const call = gateway.calls.at(-1);
        const headers = { 'content-type': 'application/json' };
        const upstreamResponse = await fetch(anvil.url, { method: 'POST', headers, body: call?.body ?? '' });
        response.end(await upstreamResponse.text());
      });
    });
    afterEach(() => gateway.close());

    it('each with its response', async () => {
      write(`${gateway.url}/local`);
      const responses: Record<string, unknown> = {};
      const lines = (demoLines(dataDir) ?? []).filter((line) => !line.startsWith('#'));
      for (const [at, line] of lines.entries()) {
        const { stdout, stderr } = await run('sh', ['-c', line]);
        expect(stderr).toBe('');
        expect(stdout).toMatch(/\}\n$/);
        responses[`${at} ${gateway.calls.at(-1)?.method ?? ''}`] = JSON.parse(stdout);
        expect(gateway.calls.at(-1)?.path).toBe(`/local/v3/${key}`);
      }
      const { value } = anvil.chain.counter;
      const stored = `0x${value.toString(16).padStart(64, '0')}`;
      expect(responses).toMatchObject({
        '0 eth_getStorageAt': { result: stored },
        '1 eth_getStorageAt': { result: stored },
        '2 eth_getBlockByHash': { result: { hash: anvil.chain.blockHash } },
        '3 eth_getUncleByBlockHashAndIndex': { result: null },
        '4 eth_getTransactionReceipt': { result: { transactionHash: anvil.chain.setTransaction } },
        '5 eth_estimateGas': { result: expect.stringMatching(/^0x/) as string },
        '6 eth_estimateGas': { error: { code: 3, message: 'execution reverted: the gate is closed' } },
        '7 eth_getTransactionByHash': { result: { hash: anvil.chain.transferTransaction } },
      });
      expect(responses).toMatchObject({
        '8 eth_blockNumber': { result: '0x3' },
        '9 eth_getBalance': { result: expect.stringMatching(/^0x[1-9a-f]/) as string },
        '10 eth_call': { result: stored },
      });
      expect(lines).toHaveLength(11);
    });

    it('with special characters in address and params', async () => {
      await run('sh', ['-c', curlLine(`${gateway.url}/a$b;c?d=1&e`, 'web3_sha3', ["it's $HOME"])]);
      expect(gateway.calls).toMatchObject([{ path: '/a$b;c?d=1&e', params: ["it's $HOME"] }]);
    });
  });
});

function write(baseUrl: string): void {
  writeDemo(dataDir, { baseUrl, key, chain: anvil.chain });
}

function setPid(pid: number): void {
  const demo = JSON.parse(readFileSync(file(), 'utf8')) as object;
  writeFileSync(file(), JSON.stringify({ ...demo, pid }));
}
