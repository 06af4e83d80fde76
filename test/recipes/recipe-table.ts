import { join } from 'node:path';
import { packageRoot } from '../../gateway/config/package.ts';
import { readTable, writeTable } from '../support/page-table.ts';
import { omissionsOf, readExamples, type RecipeExample } from './recipe-example.ts';

const page = join(packageRoot, 'docs/measured/recipes.md');
const heading = ['recipe: example', 'left out', 'check', 'message'];

/** The rows of docs/measured/recipes.md, without the heading. */
export function recipeRows(examples: Iterable<RecipeExample>): string[][] {
  return [...examples].flatMap((example) =>
    omissionsOf(example).map(({ leftOut, check, message }) => [
      ...[`${example.recipe}: ${example.example}`, leftOut, check],
      `\`\` ${message.trim()} \`\``,
    ]),
  );
}

export function writtenRows(): string[][] {
  return readTable(page, 'recipes').slice(1);
}

/** Prints and writes the rows of the examples that were followed. Rows of other examples stay as they are. */
export function writeRows(followed: Iterable<RecipeExample>): void {
  const seen = recipeRows(followed);
  for (const row of seen) console.log(row.join(' | '));
  const isSame = (one: readonly string[], other: readonly string[]): boolean =>
    one[0] === other[0] && one[1] === other[1];
  const known = [...seen, ...writtenRows()];
  const rows = recipeRows(readExamples()).flatMap((row) => known.filter((other) => isSame(row, other)).slice(0, 1));
  writeTable(page, 'recipes', [heading, ...rows], 'npm run test:all -- recipes');
}
