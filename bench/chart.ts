import { median, ratios, show } from './figures.ts';
import type { Results } from './results.ts';
import { scenarios } from './scenarios.ts';

interface Bar {
  readonly label: string;
  readonly isGatehouse: boolean;
  readonly values: readonly number[];
  readonly max: number | undefined;
}

const WIDTH = 760;
const LEFT = 250;
const RIGHT = 70;
const ROW = 26;
const TOP = 44;

/** docs/bench.svg: CPU per call as multiples of nginx, with the range of all rounds and the target. */
export function chartOf(results: Results): string {
  const bars = barsOf(results);
  const longest = Math.max(...bars.flatMap(({ values, max = 0 }) => [...values, max]), 1);
  const x = (value: number): number => LEFT + (value / longest) * (WIDTH - LEFT - RIGHT);
  const height = TOP + bars.length * ROW + 34;
  const foot = `${results.machine}, ${results.date}`;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img">
<title>CPU per call, as multiples of nginx</title>
<style>
text { font: 13px system-ui, sans-serif; fill: #1f2328; }
.small { font-size: 11px; fill: #59636e; }
.ours { fill: #0969da; } .others { fill: #8c959f; }
.spread, .target { stroke: #1f2328; stroke-width: 1.5; } .target { stroke: #cf222e; stroke-width: 2; }
@media (prefers-color-scheme: dark) {
text { fill: #f0f6fc; } .small { fill: #9198a1; } .ours { fill: #4493f8; } .others { fill: #656c76; }
.spread { stroke: #f0f6fc; } .target { stroke: #f85149; }
}
</style>
<text x="8" y="20">CPU per call, nginx = 1</text>
<line class="target" x1="${LEFT}" y1="9" x2="${LEFT}" y2="23"/><text class="small" x="${LEFT + 7}" y="20">target</text>
<line class="spread" x1="${LEFT + 60}" y1="16" x2="${LEFT + 80}" y2="16"/><text class="small" x="${LEFT + 86}" y="20">all rounds</text>
${bars.map((bar, index) => drawBar(bar, TOP + index * ROW, x)).join('\n')}
<text class="small" x="8" y="${height - 10}">${escapeXml(foot)}</text>
</svg>
`;
}

function drawBar({ label, isGatehouse, values, max }: Bar, y: number, x: (value: number) => number): string {
  const middle = y + ROW / 2;
  const end = x(median(values));
  const [from, to] = [x(Math.min(...values)), x(Math.max(...values))];
  return [
    `<text x="${LEFT - 10}" y="${middle + 4}" text-anchor="end">${escapeXml(label)}</text>`,
    `<rect class="${isGatehouse ? 'ours' : 'others'}" x="${LEFT}" y="${y + 5}" width="${round(end - LEFT)}" height="${ROW - 10}" rx="2"/>`,
    `<line class="spread" x1="${round(from)}" y1="${middle}" x2="${round(to)}" y2="${middle}"/>`,
    ...(max === undefined
      ? []
      : [`<line class="target" x1="${round(x(max))}" y1="${y + 2}" x2="${round(x(max))}" y2="${y + ROW - 2}"/>`]),
    `<text x="${round(Math.max(end, to, max === undefined ? 0 : x(max)) + 8)}" y="${middle + 4}">${show(median(values))}</text>`,
  ].join('');
}

function barsOf(results: Results): Bar[] {
  return results.scenarios.flatMap((result) => {
    if (result.kind !== 'cost') return [];
    const scenario = scenarios.find(({ name }) => name === result.name);
    if (scenario?.kind !== 'cost') return [];
    return Object.keys(result.rounds[0] ?? {})
      .filter((through) => through !== 'nginx' && through !== scenario.baseline)
      .map((through) => {
        const isGatehouse = through === 'Gatehouse';
        const max = isGatehouse && scenario.baseline === undefined ? scenario.max : undefined;
        const label = isGatehouse ? scenario.title : `${through}, ${scenario.title}`;
        return { label, isGatehouse, max, values: ratios(result.rounds, through, 'nginx') };
      });
  });
}

function round(value: number): string {
  return value.toFixed(1);
}

function escapeXml(text: string): string {
  return text.replace(/[<>&]/g, (character) => `&#${character.charCodeAt(0)};`);
}
