import { vi } from 'vitest';
import { clock, type Timer } from '../../gateway/clock/clock.ts';

export interface HeldTimers {
  /** How many are set. */
  readonly count: number;
  /** Fires those that become due, one after the other, with the microtasks between them. */
  forward(ms: number): Promise<void>;
  /** Timers that are set from now on follow the gateway's clock again. */
  release(): void;
}

const kinds = { setTimeout: 'clearTimeout', setInterval: 'clearInterval' } as const;

/** Holds timers of these kinds that the gateway sets from now on until `forward` moves them. `clock.now` goes on. */
export function holdTimers(...held: readonly (keyof typeof kinds)[]): HeldTimers {
  let now = 0;
  const dueAt = new Map<Timer, number>();
  const fires = new Map<Timer, () => void>();
  const spies = held.flatMap((kind) => {
    const clear = clock[kinds[kind]].bind(clock);
    return [
      vi.spyOn(clock, kind).mockImplementation((callback: (...args: never[]) => void, ms: number, ...args: never[]) => {
        const timer: Timer = {
          unref: () => timer,
          refresh: () => {
            dueAt.set(timer, now + Math.max(1, ms));
            return timer;
          },
        };
        fires.set(timer, () => {
          if (kind === 'setInterval') timer.refresh();
          else dueAt.delete(timer);
          callback(...args);
        });
        return timer.refresh();
      }),
      vi.spyOn(clock, kinds[kind]).mockImplementation((timer) => {
        if (timer !== undefined && fires.has(timer)) dueAt.delete(timer);
        else clear(timer);
      }),
    ];
  });
  return {
    get count() {
      return dueAt.size;
    },
    async forward(ms) {
      const end = now + ms;
      for (;;) {
        const [next] = [...dueAt].filter(([, at]) => at <= end).toSorted(([, one], [, other]) => one - other);
        if (next === undefined) break;
        now = Math.max(now, next[1]);
        fires.get(next[0])?.();
        await Promise.resolve();
      }
      now = end;
      await new Promise(setImmediate);
    },
    release() {
      for (const spy of spies) spy.mockRestore();
    },
  };
}
