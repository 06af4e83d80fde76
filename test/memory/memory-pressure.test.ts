import { describe, expect, it } from 'vitest';
import { MemoryPressure } from '../../gateway/memory/memory-pressure.ts';

const MB = 2 ** 20;

/** A process of 500 MB whose heap alone may have 400 MB. */
function open() {
  const pressure = new MemoryPressure(500 * MB);
  let now = 0;
  return (heap: number, external: number, resident: number, seconds = 0.1): string => {
    now += seconds * 1_000;
    return pressure.update(
      {
        collectedBytes: heap * MB,
        heapLimitBytes: 400 * MB,
        externalBytes: external * MB,
        residentBytes: resident * MB,
      },
      now,
    );
  };
}

describe('memory pressure', () => {
  it('is high above 70 %, critical above 85 %, and normal again below 60 %', () => {
    const at = open();
    expect(at(200, 100, 320)).toBe('normal');
    expect(at(240, 120, 380)).toBe('high');
    expect(at(300, 130, 450)).toBe('critical');
    expect(at(250, 110, 450)).toBe('critical');
    expect(at(230, 110, 450)).toBe('high');
    expect(at(210, 100, 330)).toBe('high');
    expect(at(190, 100, 310)).toBe('normal');
  });

  it('counts the limit of the heap, too', () => {
    const at = open();
    expect(at(270, 0, 300)).toBe('normal');
    expect(at(290, 0, 320)).toBe('high');
    expect(at(345, 0, 400)).toBe('critical');
  });

  it('counts resident memory only after 5 s', () => {
    const at = open();
    expect(at(100, 50, 400)).toBe('normal');
    expect(at(100, 50, 300)).toBe('normal');
    expect(at(100, 50, 400, 3)).toBe('normal');
    expect(at(100, 50, 400, 4.9)).toBe('normal');
    expect(at(100, 50, 400, 0.2)).toBe('high');
    expect(at(100, 50, 340)).toBe('normal');
  });

  it('does not count resident memory for ever that does not grow: the allocator keeps it', () => {
    const at = open();
    at(100, 50, 400);
    expect(at(100, 50, 400, 6)).toBe('high');
    expect(at(100, 50, 400, 5)).toBe('normal');
    expect(at(100, 50, 430, 1)).toBe('high');
  });
});
