import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { describe, expect, it } from 'vitest';
import { packageRoot } from '../../gateway/config/package.ts';
import { instruments } from '../../gateway/metrics/instruments.ts';

/** The pages below docs/, such as `keys.md` and `reference/settings.md`. */
const docs = readdirSync(join(packageRoot, 'docs'), { recursive: true, encoding: 'utf8' }).filter((name) =>
  name.endsWith('.md'),
);
const pages = ['README.md', 'CONTRIBUTING.md', ...docs.map((name) => `docs/${name}`)];
const textOf = (page: string): string => readFileSync(join(packageRoot, page), 'utf8');
const linesOf = (page: string): string[] => textOf(page).trimEnd().split('\n');

describe('README.md', () => {
  it('has at most 150 lines', () => {
    expect(linesOf('README.md').length).toBeLessThanOrEqual(150);
  });

  it('links every page of docs/ but the references and measurements', () => {
    const own = docs.filter((name) => !name.includes('/') && name !== 'moved.md');
    expect(own.filter((name) => !textOf('README.md').includes(`](docs/${name})`))).toEqual([]);
  });
});

it('docs/README.md links every page of docs/', () => {
  const others = docs.filter((name) => name !== 'README.md');
  expect(others.filter((name) => !textOf('docs/README.md').includes(`](${name})`))).toEqual([]);
});

it('docs/moved.md leads from each former page and section to one that exists', () => {
  const rows = [...textOf('docs/moved.md').matchAll(/^\| `(\S+)` +\| \[\S+\]\((\S+)\) +\|$/gm)];
  expect(rows.length).toBeGreaterThan(100);
  expect(rows.filter(([, former = '']) => isThere('docs/moved.md', former)).map(([row]) => row)).toEqual([]);
  expect(rows.filter(([, , now = '']) => !isThere('docs/moved.md', now)).map(([row]) => row)).toEqual([]);
});

describe.each(pages)('%s', (page) => {
  it('has each heading once', () => {
    const headings = [...withoutCode(textOf(page)).matchAll(/^##+ (.*)$/gm)].map(([, heading]) => heading);
    expect(headings.filter((heading, at) => headings.indexOf(heading) !== at)).toEqual([]);
  });

  it('has links to files and headings that exist', () => {
    const links = [...withoutCode(textOf(page)).matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = '']) => link);
    expect(links.filter((link) => !/^https?:/.test(link) && !isThere(page, link))).toEqual([]);
  });
});

it.each(docs)('docs/%s begins with the answer, not with what it is', (name) => {
  expect(textOf(`docs/${name}`)).toMatch(/^# .+\n\n(<!--.*-->\n\n)?(?!This (page|section|document)\b)[\w`<]/);
});

it('README, CONTRIBUTING and docs/ name only metrics that exist', () => {
  const known = new Set(Object.keys(instruments));
  const named = pages.flatMap((page) => [...textOf(page).matchAll(/\bgatehouse_\w+/g)].map(([name]) => [page, name]));
  expect(named.length).toBeGreaterThan(50);
  // The examples of recipes add metrics.
  expect(named.filter(([page, name = '']) => page !== 'docs/measured/recipes.md' && !known.has(name))).toEqual([]);
});

it.each(['gateway', 'deploy', 'schemas', 'bench', 'test'])('%s/ names pages of docs/ that exist', (folder) => {
  const missing = filesIn(folder).flatMap((file) =>
    [...readFileSync(join(packageRoot, file), 'utf8').matchAll(/\bdocs\/[a-z/-]+\.(?:md|png|svg|json)\b/g)]
      .filter(([path]) => !existsSync(join(packageRoot, path)))
      .map(([path]) => `${file}: ${path}`),
  );
  expect(missing).toEqual([]);
});

it('docs/consistency.md has the rules that test/chain/chain.test.ts runs, and names tests that exist', () => {
  const page = textOf('docs/consistency.md');
  const rules = [...page.matchAll(/^## Rule (\d: .*)$/gm)].map(([, rule = '']) => `rule ${rule.replaceAll('"', '')}`);
  const tests = readFileSync(join(packageRoot, 'test/chain/chain.test.ts'), 'utf8');
  expect(rules).toHaveLength(5);
  expect(rules.filter((rule) => !tests.includes(`describe('${rule}`))).toEqual([]);
  const named = [...page.matchAll(/`(test\/[\w/-]+\.test\.ts)`/g)].map(([, path = '']) => path);
  expect(named.length).toBeGreaterThan(10);
  expect(named.filter((path) => !existsSync(join(packageRoot, path)))).toEqual([]);
});

function isThere(page: string, link: string): boolean {
  const [path = '', anchor] = link.split('#');
  const target = path === '' ? page : relative(packageRoot, join(packageRoot, dirname(page), path));
  if (!existsSync(join(packageRoot, target))) return false;
  return anchor === undefined || !target.endsWith('.md') || anchorsOf(target).includes(anchor);
}

/** The anchors that GitHub creates for headings. */
function anchorsOf(page: string): string[] {
  const headings = [...withoutCode(textOf(page)).matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => heading);
  return headings.map((heading) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

function withoutCode(text: string): string {
  return text.replace(/^```[^]*?^```/gm, '');
}

function filesIn(folder: string): string[] {
  return readdirSync(join(packageRoot, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(ts|js|html|ya?ml|json)$/.test(name) && !name.includes('node_modules'))
    .map((name) => join(folder, name));
}
