import type { Profiler } from 'node:inspector';

/** A turn of the event loop. Times are by performance.now(). */
export interface Turn {
  readonly startedAt: number;
  readonly endedAt: number;
  /** CPU time of the stall. */
  readonly ms: number;
  /** Requests of clients and responses of upstreams in it. */
  readonly messages: number;
}

/** A pause of the garbage collector. */
export interface Pause {
  readonly startedAt: number;
  readonly endedAt: number;
  readonly kind: string;
}

/** All stalls with one cause. */
export interface StallCause {
  readonly cause: string;
  count: number;
  longestMs: number;
  totalMs: number;
}

const NODE = 'Node';
/** Folders of the gateway whose functions handle requests and responses. */
const handlers = /^(?:server|upstreams\/transport|upstreams\/upstream-calls|routing|rpc)\b/;

/**
 * The causes of stalls, those with the most time first: a pause of the garbage collector if it takes half of the turn; else
 * the outermost function of the gateway that takes half of it and handles no messages; else the messages in it.
 * @param originUs time origin of performance.now(), on the clock of the profile
 */
export function causesOf(
  turns: readonly Turn[],
  pauses: readonly Pause[],
  profile: Profiler.Profile,
  originUs: number,
): StallCause[] {
  const labels = labelsOf(profile);
  const samples = samplesOf(profile, originUs);
  const causes = new Map<string, StallCause>();
  for (const turn of turns) {
    const name = causeOf(turn, pauses, samples, labels);
    const cause = causes.get(name) ?? { cause: name, count: 0, longestMs: 0, totalMs: 0 };
    causes.set(name, cause);
    cause.count++;
    cause.longestMs = Math.max(cause.longestMs, turn.ms);
    cause.totalMs += turn.ms;
  }
  return [...causes.values()].sort((one, other) => other.totalMs - one.totalMs);
}

interface Sample {
  readonly at: number;
  readonly node: number;
}

function causeOf(
  turn: Turn,
  pauses: readonly Pause[],
  samples: readonly Sample[],
  labels: ReadonlyMap<number, string>,
): string {
  const { startedAt, endedAt, ms, messages } = turn;
  const pause = pauses
    .filter((each) => each.startedAt < endedAt && each.endedAt > startedAt)
    .toSorted((one, other) => lengthOf(other) - lengthOf(one))[0];
  if (pause !== undefined && lengthOf(pause) >= ms / 2) return `garbage collection: ${pause.kind}`;
  const counts = new Map<string, number>();
  let all = 0;
  for (let index = firstAfter(samples, startedAt); (samples[index]?.at ?? Infinity) <= endedAt; index++) {
    const label = labels.get(samples[index]?.node ?? 0) ?? NODE;
    counts.set(label, (counts.get(label) ?? 0) + 1);
    all++;
  }
  const sorted = [...counts].sort(([, one], [, other]) => other - one);
  const own = sorted.find(([label, count]) => label !== NODE && !handlers.test(label) && count >= all / 2);
  if (own !== undefined) return own[0];
  return messages > 1 ? 'several requests and responses in one turn' : (sorted[0]?.[0] ?? NODE);
}

function lengthOf({ startedAt, endedAt }: Pause): number {
  return endedAt - startedAt;
}

function samplesOf({ startTime, samples = [], timeDeltas = [] }: Profiler.Profile, originUs: number): Sample[] {
  let atUs = startTime;
  return samples.map((node, index) => {
    atUs += timeDeltas[index] ?? 0;
    return { at: (atUs - originUs) / 1_000, node };
  });
}

/** The index of the first sample after a time. */
function firstAfter(samples: readonly Sample[], time: number): number {
  let [low, high] = [0, samples.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((samples[middle]?.at ?? Infinity) < time) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Labels of the nodes of the profile: `<folder>/<file>: <function>`, the gateway's outermost function on the stack. */
function labelsOf({ nodes }: Profiler.Profile): Map<number, string> {
  const labels = new Map<number, string>();
  // Parents come before their children.
  for (const { id, callFrame, children = [] } of nodes) {
    const place = /\/dist\/gateway\/(.+)\.js$/.exec(callFrame.url)?.[1];
    const own = place === undefined ? undefined : `${place}: ${callFrame.functionName || 'anonymous'}`;
    const label = labels.get(id) ?? own;
    if (label === undefined) continue;
    labels.set(id, label);
    for (const child of children) labels.set(child, label);
  }
  return labels;
}
