import { setTimeout as delay } from 'node:timers/promises';
import { CheckedCalls, firstOfLoad } from './checked-calls.ts';
import { LoadGenerator, type Endpoint } from './load.ts';
import { peerPrograms, runtimePrograms } from './peers.ts';
import { cpuMicroseconds } from './processes.ts';
import type { Cost, CostRound } from './results.ts';
import { gatewayParts, type GatewayParts, type Rig, type RigGateway } from './rig.ts';
import type { CostScenario } from './scenarios.ts';
import { warmUp } from './warm-up.ts';

/** A program under test, and how calls are sent to it. */
interface Contender {
  readonly name: string;
  readonly endpoint: Endpoint;
  readonly pid: number;
  readonly redisPid?: number | undefined;
  /** Calls per batch; 0: single calls. */
  readonly batchSize: number;
  readonly connections: number;
  /** Program on Node, which compiles its code meanwhile. */
  readonly isScript?: boolean;
}

const CONNECTIONS = 64;

/** Every round measures all contenders. The order alternates, so that other load on the machine affects all equally. */
export async function measureCost(
  scenario: CostScenario,
  rig: Rig,
  rounds: number,
  seconds: number,
): Promise<CostRound[]> {
  const gateways: RigGateway[] = [];
  const costRounds: CostRound[] = [];
  try {
    const contenders = await startContenders(scenario, rig, gateways);
    const { calls, distinct } = scenario;
    // nginx, HAProxy and the peers are compiled.
    const scripts = contenders.filter(({ isScript }) => isScript === true);
    for (const contender of scripts) await warmUp({ ...contender, calls, distinct }, seconds);
    for (let round = 0; round < rounds; round++) {
      const costs: [string, Cost][] = [];
      for (const contender of round % 2 === 0 ? contenders : contenders.toReversed()) {
        const cost = await measure(contender, scenario, rig, seconds);
        const hasBaseline = scenario.baseline !== undefined;
        costs.push([
          contender.name,
          hasBaseline ? { ...cost, idleCpuMs: await measureIdleCpu(contender.pid, seconds) } : cost,
        ]);
      }
      costRounds.push(Object.fromEntries(round % 2 === 0 ? costs : costs.reverse()));
    }
  } finally {
    for (const gateway of gateways) await gateway.stop();
  }
  return costRounds;
}

/** @param gateways gets the started gateways, which the caller must stop */
async function startContenders(scenario: CostScenario, rig: Rig, gateways: RigGateway[]): Promise<Contender[]> {
  const contenders: Contender[] = [];
  for (const name of ['nginx', ...(scenario.references ?? [])] as const) {
    const reference = await rig.reference(name);
    if (reference === undefined) continue;
    const { port, pid } = reference;
    const connections = scenario.calls.length === 1 ? (scenario.connections ?? CONNECTIONS) : CONNECTIONS;
    const isScript = name === 'bare Node proxy';
    contenders.push({ name, pid, batchSize: 0, connections, isScript, endpoint: { port, paths: ['/'] } });
  }
  const start = async (name: string, parts: GatewayParts): Promise<Contender> => {
    const isDefault = parts.node === undefined && gatewayParts.every((part) => parts[part] === undefined);
    const gateway = await (isDefault ? rig.defaultGateway : rig.gateway(parts));
    gateways.push(gateway);
    const { pid, redisPid, port, paths } = gateway;
    const isWebSocket = scenario.send === 'websocket';
    const batchSize = typeof scenario.send === 'number' ? scenario.send : 0;
    const { connections = CONNECTIONS } = scenario;
    return { name, pid, redisPid, batchSize, connections, isScript: true, endpoint: { port, paths, isWebSocket } };
  };
  if (scenario.baseline !== undefined) {
    contenders.push(await start(scenario.baseline, { ...scenario, networks: 1, keys: 1 }));
  }
  contenders.push(await start('Gatehouse', scenario));
  if (scenario.comparesPeers !== true) return contenders;
  for (const [name, node] of runtimePrograms()) contenders.push(await start(name, { ...scenario, node }));
  for (const [name, program] of peerPrograms()) {
    const { port, pid, path = '/' } = await rig.peer(name, program);
    const { connections = CONNECTIONS, send = 0 } = scenario;
    const batchSize = typeof send === 'number' ? send : 0;
    contenders.push({ name, pid, batchSize, connections, endpoint: { port, paths: [path] } });
  }
  return contenders;
}

async function measure(
  { endpoint, batchSize, connections, pid, redisPid }: Contender,
  { calls, distinct }: CostScenario,
  rig: Rig,
  seconds: number,
): Promise<Cost> {
  const checked = new CheckedCalls(calls, batchSize, distinct, distinct === undefined ? firstOfLoad() : 0);
  const load = await LoadGenerator.open(endpoint, connections, checked);
  const [receivedBefore, cpuBefore, redisCpuBefore] = [
    rig.upstream.received,
    cpuMicroseconds(pid),
    redisPid && cpuMicroseconds(redisPid),
  ];
  const durationS = await load.saturate(seconds);
  const usedUs = cpuMicroseconds(pid) - cpuBefore;
  const { correct, rejected, failed } = load.outcomes;
  const all = correct + rejected + failed;
  const ofRedis =
    redisPid === undefined ? {} : { redisCpuUs: (cpuMicroseconds(redisPid) - (redisCpuBefore ?? 0)) / all };
  const cached = Math.max(0, correct - (rig.upstream.received - receivedBefore));
  load.close();
  const cpu = { cpuUs: usedUs / all, ...ofRedis, coreShare: usedUs / durationS / 1e6 };
  return { ...cpu, callsPerSecond: all / durationS, correct, rejected, failed, cached };
}

/** CPU in ms per second after the last call, while upstreams are still polled. It does not depend on the calls. */
async function measureIdleCpu(pid: number, seconds: number): Promise<number> {
  const [startedAt, before] = [performance.now(), cpuMicroseconds(pid)];
  await delay(1_000 * seconds);
  return (cpuMicroseconds(pid) - before) / (performance.now() - startedAt);
}
