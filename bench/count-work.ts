import type { HeapProfiler } from 'node:inspector';
import { Session } from 'node:inspector/promises';

const CALLS = 1_000;
/** Bytes between two samples: so small that the sum of 1,000 calls is exact to about 1 %. */
const SAMPLING_INTERVAL = 512;

/** What one call does, on average. Independent of the machine and its load. */
export interface WorkCounts {
  /** Calls of JavaScript functions, those of libraries and of Node included. */
  readonly functions: number;
  /** Bytes allocated in the heap of V8. */
  readonly bytes: number;
}

/** Counts functions and bytes of calls in turn, after `countAsync` has warmed them up. Other work of the process is counted, too. */
export async function countWork(work: () => unknown): Promise<WorkCounts> {
  const session = new Session();
  session.connect();
  try {
    await session.post('HeapProfiler.startSampling', {
      samplingInterval: SAMPLING_INTERVAL,
      includeObjectsCollectedByMajorGC: true,
      includeObjectsCollectedByMinorGC: true,
    } as object);
    for (let count = 0; count < CALLS; count++) await work();
    const { profile } = await session.post('HeapProfiler.stopSampling');
    const bytes = bytesOf(profile.head);
    // After the bytes: precise coverage prevents optimisation, which avoids allocations.
    await session.post('Profiler.enable');
    await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
    await session.post('Profiler.takePreciseCoverage');
    for (let count = 0; count < CALLS; count++) await work();
    const { result } = await session.post('Profiler.takePreciseCoverage');
    const counts = result.flatMap(({ functions }) => functions.map(({ ranges }) => ranges[0]?.count ?? 0));
    await session.post('Profiler.stopPreciseCoverage');
    await session.post('Profiler.disable');
    // One function is `work` itself.
    const functions = counts.reduce((sum, count) => sum + count, 0) / CALLS - 1;
    return { functions, bytes: bytes / CALLS };
  } finally {
    session.disconnect();
  }
}

function bytesOf({ selfSize, children }: HeapProfiler.SamplingHeapProfileNode): number {
  return children.reduce((sum, child) => sum + bytesOf(child), selfSize);
}
