import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, request as httpRequest } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { packageRoot } from '../gateway/config/package.ts';
import { writeTable } from '../test/faults/fault-table.ts';
import { startFaultProxy, type FaultProxy, type ConnectionFault } from '../test/faults/fault-proxy.ts';
import { status } from '../test/support/behaviours.ts';
import { startFakeNode, type FakeNode } from '../test/support/fake-node.ts';
import { findProgram } from '../test/support/find-program.ts';
import { programs } from '../test/support/programs.ts';
import { freePorts, option, start, stopAll } from './processes.ts';
import { startGateway } from './start-gateway.ts';

/**
 * How long callers wait for the right answer from the moment when the first of two upstreams dies, beside nginx with the
 * same time for an attempt. Callers ask again until the answer is right. Writes its table into docs/faults.md.
 *
 *   npm run bench:failover [-- --trials 3 --seconds 3]
 */
interface Candidate {
  readonly name: string;
  readonly url: string;
}

const CALLERS = 8;
const PAUSE_MS = 5;
const ATTEMPT_MS = 1_000;
const WARM_MS = 1_000;

const word = `0x${'2a'.padStart(64, '0')}`;
const call = '"method":"eth_getStorageAt","params":["0x5fbdb2315678afecb367f032d93f642f64180aa3","0x0","latest"]}';

const ways: readonly { readonly name: string; readonly fault: ConnectionFault | 503 }[] = [
  { name: 'is killed: connections break, new ones are refused', fault: { kind: 'refuse' } },
  { name: 'resets every connection', fault: { kind: 'reset', at: 'accept' } },
  { name: 'returns HTTP 503', fault: 503 },
  { name: 'hangs: accepts calls and does not respond', fault: { kind: 'hang', at: 'response' } },
  { name: 'disappears from the network', fault: { kind: 'vanish' } },
];

const folder = mkdtempSync(join(tmpdir(), 'gatehouse-failover-'));
const [primary, secondary] = (await Promise.all([0, 1].map(startNode))) as [FakeNode, FakeNode];
const wire = await startFaultProxy(Number(new URL(primary.url).port));
try {
  const [trials, seconds] = [option('trials', 3), option('seconds', 3)];
  const candidates = await startAll();
  const rows: string[][] = [];
  for (const { name, fault } of ways) {
    for (const candidate of candidates) {
      const times: Times = { ms: [], again: 0 };
      for (let trial = 0; trial < trials; trial++) await measure(candidate.url, fault, seconds * 1_000, times);
      rows.push([name, candidate.name, ...cellsOf(times)]);
      console.log(rows.at(-1)?.join(' | '));
    }
  }
  const command = `npm run bench:failover -- --trials ${trials} --seconds ${seconds}`;
  writeTable(join(packageRoot, 'docs/faults.md'), 'failover', rows, command);
} finally {
  stopAll();
  await Promise.all([wire.close(), primary.close(), secondary.close()]);
  rmSync(folder, { recursive: true, force: true });
}

interface Times {
  readonly ms: number[];
  /** Calls that were not answered rightly at once. */
  again: number;
}

/** Calls go on all the while; those that end after the fault are measured. */
async function measure(url: string, fault: ConnectionFault | 503, forMs: number, times: Times): Promise<void> {
  await untilAsked(url, primary);
  const failsAt = performance.now() + WARM_MS;
  const until = failsAt + forMs;
  const agent = new Agent({ keepAlive: true, maxSockets: CALLERS });
  const caller = async (): Promise<void> => {
    while (performance.now() < until) {
      const began = performance.now();
      let tries = 1;
      while (!(await isRight(url, agent))) tries++;
      const ended = performance.now();
      if (ended >= failsAt) {
        times.ms.push(ended - Math.max(began, failsAt));
        if (tries > 1) times.again++;
      }
      await delay(PAUSE_MS);
    }
  };
  const callers = Array.from({ length: CALLERS }, caller);
  await delay(failsAt - performance.now());
  await turn(wire, primary, fault);
  await Promise.all(callers);
  agent.destroy();
  await turn(wire, primary, undefined);
  primary.calls.length = 0;
  secondary.calls.length = 0;
}

async function turn(to: FaultProxy, node: FakeNode, fault: ConnectionFault | 503 | undefined): Promise<void> {
  node.always(fault === 503 ? status(503) : undefined);
  await to.fail(fault === 503 ? undefined : fault);
}

/** The first upstream is in use, again. */
async function untilAsked(url: string, node: FakeNode): Promise<void> {
  const agent = new Agent({ keepAlive: true });
  for (let sent = 0; sent < 5;) {
    const before = node.callsOf('eth_getStorageAt').length;
    await isRight(url, agent);
    sent = node.callsOf('eth_getStorageAt').length > before ? sent + 1 : 0;
    await delay(20);
  }
  agent.destroy();
}

async function isRight(url: string, agent: Agent): Promise<boolean> {
  try {
    return (await post(url, agent, `{"jsonrpc":"2.0","id":1,${call}`)).includes(word);
  } catch {
    return false;
  }
}

function cellsOf({ ms, again }: Times): string[] {
  ms.sort((a, b) => a - b);
  const at = (share: number): string => `${(ms[Math.ceil(ms.length * share) - 1] ?? NaN).toFixed(1)} ms`;
  return [at(0.5), at(0.99), at(1), String(ms.length), String(again)];
}

function startNode(): Promise<FakeNode> {
  return startFakeNode({ chainId: 1, responses: { eth_getStorageAt: word } });
}

async function startAll(): Promise<Candidate[]> {
  const [nginx = 0] = await freePorts(1);
  const second = Number(new URL(secondary.url).port);
  writeFileSync(join(folder, 'nginx.conf'), nginxConf(nginx, second));
  start(findProgram(programs.nginx), ['-c', join(folder, 'nginx.conf'), '-e', '/dev/null']);
  const upstream = (name: string, port: number) => ({ name, url: `http://127.0.0.1:${port}`, timeoutMs: ATTEMPT_MS });
  // As nginx has it: the first is asked again as soon as it is well.
  const upstreams = [upstream('first', wire.port), { ...upstream('second', second), priority: 2 }];
  const { port, paths } = await startGateway(folder, { networks: { failover: { name: 'F', chainId: 1, upstreams } } });
  return [
    { name: 'Gatehouse', url: `http://127.0.0.1:${port}${paths[0] ?? ''}` },
    { name: 'nginx', url: `http://127.0.0.1:${nginx}/` },
  ];
}

function nginxConf(port: number, second: number): string {
  const seconds = `${ATTEMPT_MS / 1_000}s`;
  return `
    master_process off; daemon off; pid ${folder}/nginx.pid; error_log /dev/null;
    events { worker_connections 1024; }
    http {
      access_log off; client_body_temp_path ${folder}/body; proxy_temp_path ${folder}/proxy;
      upstream nodes {
        server 127.0.0.1:${wire.port} max_fails=1 fail_timeout=1s;
        server 127.0.0.1:${second} backup;
        keepalive 64;
      }
      server {
        listen 127.0.0.1:${port};
        location / {
          proxy_pass http://nodes; proxy_http_version 1.1; proxy_set_header Connection "";
          proxy_connect_timeout ${seconds}; proxy_read_timeout ${seconds};
          proxy_next_upstream error timeout http_503 non_idempotent;
        }
      }
    }`;
}

/** @returns the body of the answer */
function post(url: string, agent: Agent, body: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json', 'content-length': body.length };
    const sent = httpRequest(url, { method: 'POST', agent, headers }, (response) => {
      let text = '';
      response.setEncoding('latin1').on('data', (chunk: string) => (text += chunk));
      response.on('end', () => {
        resolve(text);
      });
    });
    sent.on('error', reject);
    sent.end(body);
  });
}
