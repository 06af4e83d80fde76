import { mkdtempSync, writeFileSync } from 'node:fs';
import { Agent } from 'node:http';
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
import { post } from './post.ts';
import { freePorts, option, removeFolder, start, stopAll } from './processes.ts';
import { startGateway } from './start-gateway.ts';

/**
 * Measures how long clients wait for the correct response after the first of two upstreams fails, through the gateway and
 * through nginx with the same attempt timeout. Clients retry until the response is correct. Writes its table into
 * docs/measured/faults.md.
 *
 *   npm run bench -- failover [--trials 3 --seconds 3]
 */
/** A program under test. */
interface Contender {
  readonly name: string;
  readonly url: string;
}

const CALLERS = 8;
const PAUSE_MS = 5;
const ATTEMPT_TIMEOUT_MS = 1_000;
const WARMUP_MS = 1_000;

const word = `0x${'2a'.padStart(64, '0')}`;
const call = '"method":"eth_getStorageAt","params":["0x5fbdb2315678afecb367f032d93f642f64180aa3","0x0","latest"]}';

const failures: readonly { readonly name: string; readonly fault: ConnectionFault | 503 }[] = [
  { name: 'is killed: connections break, new ones are refused', fault: { kind: 'refuse' } },
  { name: 'resets every connection', fault: { kind: 'reset', at: 'accept' } },
  { name: 'returns HTTP 503', fault: 503 },
  { name: 'hangs: accepts calls and does not respond', fault: { kind: 'hang', at: 'response' } },
  { name: 'disappears from the network', fault: { kind: 'vanish' } },
];

const folder = mkdtempSync(join(tmpdir(), 'gatehouse-failover-'));
const [primary, secondary] = (await Promise.all([0, 1].map(startNode))) as [FakeNode, FakeNode];
const proxy = await startFaultProxy(Number(new URL(primary.url).port));
try {
  const [trials, seconds] = [option('trials', 3), option('seconds', 3)];
  const contenders = await startAll();
  const rows: string[][] = [];
  for (const { name, fault } of failures) {
    for (const contender of contenders) {
      const times: Times = { ms: [], retried: 0 };
      for (let trial = 0; trial < trials; trial++) await measure(contender.url, fault, seconds * 1_000, times);
      rows.push([name, contender.name, ...cellsOf(times)]);
      console.log(rows.at(-1)?.join(' | '));
    }
  }
  const command = `npm run bench -- failover --trials ${trials} --seconds ${seconds}`;
  writeTable(join(packageRoot, 'docs/measured/faults.md'), 'failover', rows, command);
} finally {
  stopAll();
  await Promise.all([proxy.close(), primary.close(), secondary.close()]);
  removeFolder(folder);
}

interface Times {
  readonly ms: number[];
  /** Calls that needed a retry by the client. */
  retried: number;
}

/** Clients send calls throughout. The calls that end after the fault are measured. */
async function measure(url: string, fault: ConnectionFault | 503, forMs: number, times: Times): Promise<void> {
  await untilUsed(url, primary);
  const failsAt = performance.now() + WARMUP_MS;
  const deadline = failsAt + forMs;
  const agent = new Agent({ keepAlive: true, maxSockets: CALLERS });
  const caller = async (): Promise<void> => {
    while (performance.now() < deadline) {
      const startedAt = performance.now();
      let tries = 1;
      while (!(await isCorrect(url, agent))) tries++;
      const endedAt = performance.now();
      if (endedAt >= failsAt) {
        times.ms.push(endedAt - Math.max(startedAt, failsAt));
        if (tries > 1) times.retried++;
      }
      await delay(PAUSE_MS);
    }
  };
  const callers = Array.from({ length: CALLERS }, caller);
  await delay(failsAt - performance.now());
  await setFault(proxy, primary, fault);
  await Promise.all(callers);
  agent.destroy();
  await setFault(proxy, primary, undefined);
  primary.calls.length = 0;
  secondary.calls.length = 0;
}

async function setFault(proxy: FaultProxy, node: FakeNode, fault: ConnectionFault | 503 | undefined): Promise<void> {
  node.always(fault === 503 ? status(503) : undefined);
  await proxy.fail(fault === 503 ? undefined : fault);
}

/** Waits until the first upstream serves five consecutive calls. */
async function untilUsed(url: string, node: FakeNode): Promise<void> {
  const agent = new Agent({ keepAlive: true });
  for (let served = 0; served < 5;) {
    const before = node.callsOf('eth_getStorageAt').length;
    await isCorrect(url, agent);
    served = node.callsOf('eth_getStorageAt').length > before ? served + 1 : 0;
    await delay(20);
  }
  agent.destroy();
}

async function isCorrect(url: string, agent: Agent): Promise<boolean> {
  try {
    return (await post(url, agent, `{"jsonrpc":"2.0","id":1,${call}`)).includes(word);
  } catch {
    return false;
  }
}

function cellsOf({ ms, retried }: Times): string[] {
  ms.sort((a, b) => a - b);
  const at = (share: number): string => `${(ms[Math.ceil(ms.length * share) - 1] ?? NaN).toFixed(1)} ms`;
  return [at(0.5), at(0.99), at(1), String(ms.length), String(retried)];
}

function startNode(): Promise<FakeNode> {
  return startFakeNode({ chainId: 1, responses: { eth_getStorageAt: word } });
}

async function startAll(): Promise<Contender[]> {
  const [nginx = 0] = await freePorts(1);
  const second = Number(new URL(secondary.url).port);
  writeFileSync(join(folder, 'nginx.conf'), nginxConf(nginx, second));
  start(findProgram(programs.nginx), ['-c', join(folder, 'nginx.conf'), '-e', '/dev/null']);
  const upstream = (name: string, port: number) => ({
    name,
    url: `http://127.0.0.1:${port}`,
    failsafe: { timeoutMs: ATTEMPT_TIMEOUT_MS },
  });
  // As with nginx, the first upstream is used again as soon as it works.
  const upstreams = [upstream('first', proxy.port), { ...upstream('second', second), priority: 2 }];
  const { port, paths } = await startGateway(folder, { networks: { failover: { name: 'F', chainId: 1, upstreams } } });
  return [
    { name: 'Gatehouse', url: `http://127.0.0.1:${port}${paths[0] ?? ''}` },
    { name: 'nginx', url: `http://127.0.0.1:${nginx}/` },
  ];
}

function nginxConf(port: number, second: number): string {
  const seconds = `${ATTEMPT_TIMEOUT_MS / 1_000}s`;
  return `
    master_process off; daemon off; pid ${folder}/nginx.pid; error_log /dev/null;
    events { worker_connections 1024; }
    http {
      access_log off; client_body_temp_path ${folder}/body; proxy_temp_path ${folder}/proxy;
      upstream nodes {
        server 127.0.0.1:${proxy.port} max_fails=1 fail_timeout=1s;
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
