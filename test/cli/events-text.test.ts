import { expect, it } from 'vitest';
import { eventsSince, eventsText } from '../../gateway/cli/running-gateway.ts';
import type { GatewayEvent } from '../../gateway/observability/event-list.ts';

const at = (minute: number): string => new Date(Date.UTC(2026, 0, 1, 12, minute)).toISOString();
const event = (id: number, more: Partial<GatewayEvent>): GatewayEvent => {
  return { id, kind: 'upstream', network: 'main', at: at(0), reason: `cause ${id}`, forS: 0, count: 1, ...more };
};
const instant = event(1, { at: at(5) });
const ended = event(2, { endedAt: at(12), forS: 720 });
const lasting = event(3, { endedAt: null, forS: 7_400, by: 'ops' });

it('events since a time are those that began, ended or still last then', () => {
  const idsSince = (minute: number): number[] =>
    eventsSince([instant, ended, lasting], Date.parse(at(minute))).map(({ id }) => id);
  expect(idsSince(4)).toEqual([1, 2, 3]);
  expect(idsSince(10)).toEqual([2, 3]);
  expect(idsSince(30)).toEqual([3]);
});

it('the text of events says how long each has lasted, and who did it', () => {
  const [, ...lines] = eventsText([instant, ended, lasting]).trimEnd().split('\n');
  expect(lines.map((line) => line.split(/ {2,}/).slice(4))).toEqual([
    ['-', '1', 'cause 1'],
    ['12m', '1', 'cause 2'],
    ['2h, lasts', '1', 'cause 3, by ops'],
  ]);
});

it('has a line with commas for each with --csv, and neither a table calculator nor a terminal runs any of it', () => {
  const event = { id: 1, kind: 'admin', at: '2026-11-30T12:00:30.000Z', forS: 0, count: 2 } as const;
  const lines = ['create a, b', '=HYPERLINK("x")', 'plain'].map((reason) => ({ ...event, reason, by: 'ci' }));
  expect(eventsText(lines, { csv: true })).toBe(
    'began,kind,network,upstream,lasted,times,what\n' +
      '2026-11-30 12:00Z,admin,,,,2,"create a, b, by ci"\n' +
      `2026-11-30 12:00Z,admin,,,,2,"'=HYPERLINK(""x""), by ci"\n` +
      '2026-11-30 12:00Z,admin,,,,2,"plain, by ci"\n',
  );
  const texts = ['\n=1', '\t-1', '-', 'a\nb', '\u001b[2J\u202e\r'].map((reason) => ({ ...event, reason }));
  expect(eventsText(texts, { csv: true }).split('2026-11-30 12:00Z,admin,,,,2,').slice(1)).toEqual([
    `"'\n=1"\n`,
    `'\t-1\n`,
    '-\n',
    '"a\nb"\n',
    '\\u001b[2J\\u202e\\u000d\n',
  ]);
  expect(eventsText([], { csv: true })).toBe('began,kind,network,upstream,lasted,times,what\n');
});
