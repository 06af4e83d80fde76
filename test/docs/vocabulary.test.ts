import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { packageRoot } from '../../gateway/config/package.ts';

/** Words of the column "not" in CONTRIBUTING.md's vocabulary that have no other meaning in documentation. */
const avoided = [
  ...['told', 'tells', 'hears', 'heard', 'whoever', 'whom', 'nobody', 'somebody', 'asks', 'asked', 'asking'],
  ...['believes?', 'believed', 'wish', 'wishes', 'doubts?', 'standing', 'kept', 'rests', 'passed over', 'in force'],
  ...['taken back', 'goes on', 'go on', 'look-ups?', 'objections?', 'complaints?', 'verdicts?', 'weighted', 'weighs'],
  ...['under way', 'for good', 'broken off', 'let go', 'let in', 'left alone', 'anew'],
];
/** Words that are not within a compound, such as a name with hyphens. */
const pattern = new RegExp(`(?<![\\w-])(${avoided.join('|')})(?![\\w-])`, 'gi');

const docs = readdirSync(join(packageRoot, 'docs'), { recursive: true, encoding: 'utf8' });
const pages = ['README.md', 'CONTRIBUTING.md', ...docs.map((name) => `docs/${name}`)];

it.each(pages.filter((page) => page.endsWith('.md')))('%s uses the standard vocabulary', (page) => {
  const prose = readFileSync(join(packageRoot, page), 'utf8')
    .replace(/^## Vocabulary\n[^]*?\n(?=Prose:)/m, '')
    .replace(/^```[^]*?^```/gm, '')
    .replace(/`[^`]*`/g, '');
  const found = prose.split('\n').flatMap((line) => (line.match(pattern) ?? []).map((word) => `${word}: ${line}`));
  expect(found).toEqual([]);
});
