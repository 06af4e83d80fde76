import { afterAll, beforeAll, expect, it, type ExpectStatic } from 'vitest';
import { readRecipes } from './contributing.ts';
import { omissionsOf, readExamples, type Check, type Edit, type RecipeExample } from './recipe-example.ts';
import { writeRows } from './recipe-table.ts';
import { findProgram } from '../support/find-program.ts';
import { programs } from '../support/programs.ts';
import { WorkCopy } from './work-copy.ts';

/** Only what an edit affects is compiled again. */
const types = 'npm run -s types -- --incremental --tsBuildInfoFile dist/types.tsbuildinfo';
const generateCheck = 'npm run -s generate:check';

const recipes = new Map(readRecipes().map((recipe) => [recipe.name, recipe]));
const followed = new Set<RecipeExample>();
let compiled: WorkCopy;

beforeAll(async () => {
  // The tests that recipes name need it.
  findProgram(programs.redis);
  compiled = new WorkCopy();
  for (const command of [types, generateCheck]) expect(await compiled.failureOf(command)).toBeUndefined();
});
afterAll(() => {
  compiled.remove();
  writeRows(followed);
});

it.concurrent.for(readExamples())(
  '$recipe: $example passes with all steps, and fails by name without any one',
  async (example, { expect }) => {
    const copy = new WorkCopy(compiled);
    try {
      await follow(example, copy, expect);
    } finally {
      copy.remove();
    }
    followed.add(example);
  },
);

async function follow(example: RecipeExample, copy: WorkCopy, expect: ExpectStatic): Promise<void> {
  const commands: Readonly<Record<Check, string>> = {
    types,
    generate: generateCheck,
    // Several copies run at a time: a test may take longer than in `npm test`.
    tests: `npx vitest run --maxWorkers=1 --testTimeout=120000 ${recipes.get(example.recipe)?.tests.join(' ')}`,
  };
  const files = example.steps.map(({ file }) => file);
  const edit = (edits: readonly Edit[]): void => {
    copy.restore(files);
    for (const each of edits) copy.edit(each);
  };

  edit(example.steps);
  if (example.generate !== undefined) await copy.failureOf('npm run -s generate');
  for (const command of Object.values(commands)) {
    const failure = await copy.failureOf(command);
    if (failure !== undefined) throw new Error(`${command} fails with all steps: ${failure}`);
  }

  const unnamed: string[] = [];
  for (const { leftOut, edits, isGenerated, check, message } of omissionsOf(example)) {
    edit(edits);
    if (isGenerated && check !== 'types') await copy.failureOf('npm run -s generate');
    const failure = (await copy.failureOf(commands[check])) ?? 'no failure';
    if (!failure.replace(/\(\d+,\d+\)/g, '').includes(message.trim())) unnamed.push(`without ${leftOut}: ${failure}`);
  }
  expect(unnamed).toEqual([]);
}
