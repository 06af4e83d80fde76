import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { packageRoot } from '../../gateway/config/package.ts';
import { isAbout, readRecipes } from '../recipes/contributing.ts';
import { applyEdit, omissionsOf, readExamples } from '../recipes/recipe-example.ts';
import { recipeRows, writtenRows } from '../recipes/recipe-table.ts';

/* What `npm run test:all -- recipes` would find after minutes is found here at once, without running a recipe. */

const examples = readExamples();
const recipes = readRecipes();

function textOf(file: string): string | undefined {
  const path = join(packageRoot, file);
  return existsSync(path) ? readFileSync(path, 'utf8') : undefined;
}

it('each recipe of CONTRIBUTING.md has an example, and each example a recipe', () => {
  const followed = new Set(examples.map(({ recipe }) => recipe));
  const advice = 'add a file to test/recipes/examples/, or correct the name in CONTRIBUTING.md';
  expect([...followed].toSorted(), advice).toEqual(recipes.map(({ name }) => name).toSorted());
});

describe.each(recipes)('$name', ({ name, steps, tests }) => {
  it('names tests that exist', () => {
    expect(tests.length).toBeGreaterThan(0);
    expect(tests.filter((test) => !existsSync(join(packageRoot, test)))).toEqual([]);
  });

  it.each(examples.filter(({ recipe }) => recipe === name))('has the files of its example, $example', (example) => {
    expect(steps, 'a recipe has two steps, with one file each').toHaveLength(2);
    expect(example.steps).toHaveLength(2);
    const others = example.steps.filter(({ file }, at) => !isAbout(steps[at] ?? '', file));
    expect(others.map(({ file }) => file)).toEqual([]);
  });
});

describe.each(examples)('the example $example', (example) => {
  it('has edits that apply to the files', () => {
    for (const { edits } of omissionsOf(example)) {
      const edited = new Map<string, string>();
      for (const edit of edits) {
        const before = edited.get(edit.file) ?? textOf(edit.file);
        const after = applyEdit(before, edit);
        expect(after).not.toBe(before);
        edited.set(edit.file, after);
      }
    }
  });
});

it('docs/measured/recipes.md has each step that can be left out, with its message', () => {
  const plain = (rows: string[][]): string[][] =>
    rows.map((row) => row.map((cell) => cell.replace(/^`+ ?| ?`+$/g, '')));
  const stale = 'docs/measured/recipes.md is stale: run `npm run test:all -- recipes`';
  expect(plain(writtenRows()), stale).toEqual(plain(recipeRows(examples)));
});
