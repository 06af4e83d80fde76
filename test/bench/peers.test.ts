import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { afterAll, describe, expect, it } from 'vitest';
import { HttpFrames } from '../../bench/http-frames.ts';
import { peerPrograms, peers, runtimePrograms } from '../../bench/peers.ts';
import { questionTables } from '../../bench/question-tables.ts';
import type { Cost, RemoteFigures, ScenarioResult } from '../../bench/results.ts';
import { Rig } from '../../bench/rig.ts';
import { runScenario } from '../../bench/run-scenario.ts';
import { walletMix } from '../../bench/wallet-calls.ts';

const rig = new Rig();
const folder = mkdtempSync(join(tmpdir(), 'gatehouse-peers-'));
const argv = process.argv;

afterAll(() => {
  process.argv = argv;
  rig.close();
  rmSync(folder, { recursive: true });
});

const setup = { port: 8_000, opsPort: 8_001, upstream: 'http://127.0.0.1:8002' };

/** A program that reads the bench's configuration of proxyd, and forwards calls with responses in chunks. */
const program = `#!${process.execPath}
const { createServer, request } = require('node:http');
const text = require('node:fs').readFileSync(process.argv[2], 'utf8');
const upstream = /rpc_url = "(.+)"/.exec(text)[1];
createServer((incoming, response) => {
  const headers = { 'content-type': 'application/json', 'content-length': incoming.headers['content-length'] };
  incoming.pipe(request(upstream, { method: 'POST', headers }, (received) => received.pipe(response)));
}).listen(/rpc_port = (\\d+)/.exec(text)[1], '127.0.0.1');
`;

describe('--peer', () => {
  it('measures the program with the configuration of the bench', async () => {
    const path = join(folder, 'proxyd.cjs');
    writeFileSync(path, program);
    chmodSync(path, 0o700);
    process.argv = [...argv, '--peer', `proxyd=${path}`, '--runtime', `Node 1=${process.execPath}`];
    const scenario = { kind: 'cost', name: 'single', title: '', calls: walletMix, comparesPeers: true } as const;
    const result = await runScenario(scenario, rig, 1, 0.005);
    if (result.kind !== 'cost') throw new Error('not a cost scenario');
    expect(result.rounds[0]?.['proxyd']).toMatchObject({ rejected: 0, failed: 0 });
    expect(result.rounds[0]?.['proxyd']?.correct).toBeGreaterThan(0);
    expect(result.rounds[0]?.['Gatehouse, Node 1']?.correct).toBeGreaterThan(0);
  });

  it.each(['proxyd', 'other=/bin/true'])('rejects %s', (text) => {
    process.argv = [...argv, '--peer', text];
    expect(() => peerPrograms()).toThrow(`--peer ${text}: expected NAME=PATH with one of erpc, proxyd, nodecore`);
  });

  it.each(['24', '=/bin/node'])('rejects --runtime %s', (text) => {
    process.argv = [...argv, '--runtime', text];
    expect(() => runtimePrograms()).toThrow(`--runtime ${text}: expected NAME=PATH`);
  });

  it.each(['erpc', 'nodecore'])('writes YAML for %s with its port and the upstream', (name) => {
    const text = peers[name]?.configuration(setup) ?? '';
    expect(JSON.stringify(parse(text))).toMatch(/8000.*http:\/\/127\.0\.0\.1:8002/);
  });
});

describe('the bytes of a connection', () => {
  const chunked = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n{"a\r\n4;x=1\r\n":1}\r\n0\r\n\r\n';
  const sized = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}';

  it.each([1, 2, 7, 1_000])('are split into messages when %i of them arrive at a time', (step) => {
    const bodies: string[] = [];
    const frames = new HttpFrames(
      (_head, body) => bodies.push(body),
      (error) => expect.fail(error.message),
    );
    const bytes = Buffer.from(chunked + sized + chunked);
    for (let at = 0; at < bytes.length; at += step) frames.feed(bytes.subarray(at, at + step));
    expect(bodies).toEqual(['{"a":1}', '{}', '{"a":1}']);
  });
});

describe('a table for each question', () => {
  const cost = (cpuUs: number): Cost => {
    return { cpuUs, callsPerSecond: 1, coreShare: 1, correct: 1, rejected: 0, failed: 0, cached: 0 };
  };
  const costs = (name: string, ...rounds: Record<string, Cost>[]): ScenarioResult => ({ name, kind: 'cost', rounds });
  const figures = (p50: number, correctShare = 1): RemoteFigures => ({ p50, p99: 2 * p50, cpuUs: p50, correctShare });

  /** The cells of the rows of all tables, with their titles. */
  const rowsOf = (...results: ScenarioResult[]): Record<string, string | undefined>[] =>
    questionTables(results)
      .filter((text) => text.startsWith('|'))
      .flatMap((text) => {
        const [titles = [], , ...rows] = text.split('\n').map((line) => line.split('|').map((cell) => cell.trim()));
        const named = titles.map((title, index) => (index === 1 ? 'row' : title));
        return rows.map((row) => Object.fromEntries(named.map((title, index) => [title, row[index]])));
      });

  it('has medians of rounds, and the target', () => {
    const rounds = [2, 9, 4].map((times) => ({ nginx: cost(10), Gatehouse: cost(30), erpc: cost(10 * times) }));
    expect(rowsOf(costs('single', ...rounds))).toEqual([
      expect.objectContaining({
        ...{ row: 'single calls', Gatehouse: '30.0 µs', erpc: '40.0 µs', nginx: '10.0 µs' },
        'target: median (all rounds)': '≤ 3.2 × nginx: 3.00 (3.00 – 3.00), met',
      }),
    ]);
  });

  it('has a column for Gatehouse on another Node, also without peers', () => {
    const [row] = rowsOf(costs('single', { nginx: cost(10), Gatehouse: cost(30), 'Gatehouse, Node 24': cost(20) }));
    expect(row).toMatchObject({ 'Gatehouse, Node 24': '20.0 µs' });
  });

  it('begins with the rows in which a peer is ahead', () => {
    const [behind, ahead] = [20, 40].map((cpuUs) => ({ nginx: cost(10), Gatehouse: cost(30), erpc: cost(cpuUs) }));
    const rows = rowsOf(costs('eth-call', ahead ?? {}), costs('single', behind ?? {}));
    expect(rows.map(({ row }) => row)).toEqual(['single calls', 'single eth_call']);
  });

  it('compares no peer that does not serve all calls', () => {
    const others = { erpc: figures(10, 0.9), proxyd: figures(40) };
    const outcomes = { correct: 1, rejected: 0, failed: 0 };
    const rounds = [{ direct: figures(20), Gatehouse: figures(30), others, outcomes }];
    const [p50] = rowsOf({ name: 'wallets', kind: 'remote', rounds });
    expect(p50).toMatchObject({ direct: '20.0 ms', Gatehouse: '30.0 ms', proxyd: '40.0 ms' });
    expect(p50).not.toHaveProperty('erpc');
  });
});
