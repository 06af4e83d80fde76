import { CheckedCalls, firstOfLoad, type Outcomes } from './checked-calls.ts';
import { LoadGenerator, type Endpoint, type Latencies } from './load.ts';
import { Random } from './random.ts';
import type { LatencyRound } from './results.ts';
import type { Rig } from './rig.ts';
import type { LatencyScenario } from './scenarios.ts';

const CONNECTIONS = 64;
/** Calls before the measurement, per second of a round, in which code is compiled. */
const WARMUP_CALLS = 20_000;
/** Time at full load, before the rate of the measurement. */
const CONNECTING_S = 0.2;
/** The share of the gateway's maximum load. */
const LOAD_SHARE = 0.5;

/** Latencies at half of the gateway's maximum load: through the gateway, through a bare Node proxy, through nginx and direct, at the same rate. */
export async function measureLatency(
  { calls }: LatencyScenario,
  rig: Rig,
  rounds: number,
  seconds: number,
): Promise<LatencyRound[]> {
  const gateway = await rig.gateway({});
  try {
    const nginx = await rig.reference('nginx');
    const bare = await rig.reference('bare Node proxy');
    const endpoints = {
      direct: { port: await rig.upstreamPort, paths: ['/'] },
      nginx: { port: nginx?.port ?? 0, paths: ['/'] },
      bare: { port: bare?.port ?? 0, paths: ['/'] },
      Gatehouse: { port: gateway.port, paths: gateway.paths },
    };
    for (let sent = 0; sent < WARMUP_CALLS * seconds;)
      sent += seconds * (await measureMaxRate(endpoints.Gatehouse, calls, seconds));
    const latencyRounds: LatencyRound[] = [];
    for (let round = 0; round < rounds; round++) {
      const callsPerSecond = LOAD_SHARE * (await measureMaxRate(endpoints.Gatehouse, calls, seconds));
      const outcomes: Outcomes = { correct: 0, rejected: 0, failed: 0 };
      const measure = async (endpoint: Endpoint): Promise<Latencies> => {
        const load = await LoadGenerator.open(
          endpoint,
          CONNECTIONS,
          new CheckedCalls(calls, 0, Infinity, firstOfLoad()),
        );
        // Otherwise the first calls wait until all connections are accepted: 64 in one turn.
        await load.saturate(CONNECTING_S);
        // The same seed gives the same arrival times for all.
        const latencies = await load.sendAtRate(callsPerSecond, 2 * seconds, new Random(round));
        load.close();
        for (const name of ['correct', 'rejected', 'failed'] as const) outcomes[name] += load.outcomes[name];
        return latencies;
      };
      const [direct, ofNginx] = [await measure(endpoints.direct), await measure(endpoints.nginx)];
      const [ofBare, ofGatehouse] = [await measure(endpoints.bare), await measure(endpoints.Gatehouse)];
      const proxies = { nginx: ofNginx, 'bare Node proxy': ofBare, Gatehouse: ofGatehouse };
      latencyRounds.push({ callsPerSecond, direct, ...proxies, outcomes });
    }
    return latencyRounds;
  } finally {
    await gateway.stop();
  }
}

/** @returns correct responses per second at full load */
async function measureMaxRate(endpoint: Endpoint, calls: LatencyScenario['calls'], seconds: number): Promise<number> {
  const load = await LoadGenerator.open(endpoint, CONNECTIONS, new CheckedCalls(calls, 0, Infinity, firstOfLoad()));
  const durationS = await load.saturate(seconds);
  load.close();
  return load.outcomes.correct / durationS;
}
