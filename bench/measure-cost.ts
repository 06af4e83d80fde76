import { setTimeout as delay } from 'node:timers/promises';
import { CheckedCalls } from './checked-calls.ts';
import { Lines, type Endpoint } from './load.ts';
import { cpuMicroseconds } from './processes.ts';
import type { Cost, CostRound } from './results.ts';
import type { Rig, RigGateway } from './rig.ts';
import type { CostScenario } from './scenarios.ts';

/** Who does the work, and how it is sent there. */
interface Contender {
  readonly name: string;
  readonly door: Endpoint;
  readonly pid: number;
  readonly redisPid?: number | undefined;
  /** Of a batch; 0: single calls. */
  readonly batch: number;
  readonly connections: number;
}

const CONNECTIONS = 64;
/** CPU that each uses before it is measured: until then its code is being compiled. */
const WARM_S = 3;
const compiled: readonly string[] = ['nginx', 'HAProxy'];

/** Rounds in which each has its turn, there and back, so that what else the machine does falls on all alike. */
export async function measureCost(
  scenario: CostScenario,
  rig: Rig,
  rounds: number,
  seconds: number,
): Promise<CostRound[]> {
  const gateways: RigGateway[] = [];
  const found: CostRound[] = [];
  try {
    const contenders = await enter(scenario, rig, gateways);
    for (const contender of contenders.filter(({ name }) => !compiled.includes(name))) {
      const warmS = Math.min(WARM_S, 10 * seconds);
      const { paths } = contender.door;
      let [usedS, sent] = [0, 0];
      // Every key was looked up then, too, and has made each kind of call.
      while (usedS < warmS || (paths.length > 1 && sent < scenario.calls.length * paths.length)) {
        const cost = await measure(contender, scenario, rig, seconds);
        sent += sum(cost);
        usedS += (cost.cpu * sum(cost)) / 1e6;
      }
    }
    for (let round = 0; round < rounds; round++) {
      const costs: [string, Cost][] = [];
      for (const contender of round % 2 === 0 ? contenders : contenders.toReversed()) {
        const cost = await measure(contender, scenario, rig, seconds);
        const isAlone = scenario.against === undefined;
        costs.push([contender.name, isAlone ? cost : { ...cost, atRest: await cpuAtRest(contender.pid, seconds) }]);
      }
      found.push(Object.fromEntries(round % 2 === 0 ? costs : costs.reverse()));
    }
  } finally {
    for (const gateway of gateways) await gateway.stop();
  }
  return found;
}

/** @param gateways to which those that were started are added */
async function enter(scenario: CostScenario, rig: Rig, gateways: RigGateway[]): Promise<Contender[]> {
  const single = { batch: 0, connections: CONNECTIONS };
  const contenders: Contender[] = [];
  for (const name of ['nginx', ...(scenario.others ?? [])] as const) {
    const reference = await rig.reference(name);
    if (reference === undefined) continue;
    const { port, pid } = reference;
    const connections = scenario.calls.length === 1 ? (scenario.connections ?? CONNECTIONS) : CONNECTIONS;
    contenders.push({ ...single, connections, name, pid, door: { port, paths: ['/'] } });
  }
  const start = async (name: string, parts: CostScenario): Promise<Contender> => {
    const gateway = await rig.gateway(parts);
    gateways.push(gateway);
    const { pid, redisPid, port, paths } = gateway;
    const isWebSocket = scenario.send === 'websocket';
    const batch = typeof scenario.send === 'number' ? scenario.send : 0;
    const { connections = CONNECTIONS } = scenario;
    return { name, pid, redisPid, batch, connections, door: { port, paths, isWebSocket } };
  };
  if (scenario.against !== undefined) {
    contenders.push(await start(scenario.against, { ...scenario, networks: 1, keys: 1 }));
  }
  contenders.push(await start('Gatehouse', scenario));
  return contenders;
}

async function measure(
  { door: endpoint, batch, connections, pid, redisPid }: Contender,
  { calls, distinct }: CostScenario,
  rig: Rig,
  seconds: number,
): Promise<Cost> {
  const lines = await Lines.open(endpoint, connections, new CheckedCalls(calls, batch, distinct));
  const [sent, cpu, redisCpu] = [rig.upstream.sent, cpuMicroseconds(pid), redisPid && cpuMicroseconds(redisPid)];
  const took = await lines.flood(seconds);
  const spent = cpuMicroseconds(pid) - cpu;
  const { right, refused, failed } = lines.outcomes;
  const all = right + refused + failed;
  const besides = redisPid === undefined ? {} : { redisCpu: (cpuMicroseconds(redisPid) - (redisCpu ?? 0)) / all };
  const cached = Math.max(0, right - (rig.upstream.sent - sent));
  lines.close();
  const outcome = { right, refused, failed, cached };
  return { cpu: spent / all, ...besides, perSecond: all / took, busy: spent / took / 1e6, ...outcome };
}

/** Of the seconds that follow the last call, in which upstreams are still polled: it does not grow with calls. */
async function cpuAtRest(pid: number, seconds: number): Promise<number> {
  const [from, before] = [performance.now(), cpuMicroseconds(pid)];
  await delay(1_000 * seconds);
  return (cpuMicroseconds(pid) - before) / (performance.now() - from);
}

function sum({ right, refused, failed }: Cost): number {
  return right + refused + failed;
}
