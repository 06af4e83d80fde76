import { afterAll, beforeAll, expect, it } from 'vitest';
import { readRecipes } from './contributing.ts';
import { omissionsOf, readExamples, type Check, type Edit, type RecipeExample } from './recipe-example.ts';
import { writeRows } from './recipe-table.ts';
import { WorkCopy } from './work-copy.ts';

/** Only what an edit affects is compiled again. */
const types = 'npm run -s types -- --incremental --tsBuildInfoFile dist/types.tsbuildinfo';
const generateCheck = 'npm run -s generate:check';

const recipes = new Map(readRecipes().map((recipe) => [recipe.name, recipe]));
const followed = new Set<RecipeExample>();
let compiled: WorkCopy;

beforeAll(async () => {
  compiled = new WorkCopy();
  for (const command of [types, generateCheck]) expect(await compiled.failureOf(command)).toBeUndefined();
});
afterAll(() => {
  compiled.remove();
  writeRows(followed);
});

it.concurrent.each(readExamples())(
  '$recipe: $example passes with all steps, and fails by name without any one',
  async (example) => {
    const copy = new WorkCopy(compiled);
    try {
      await follow(example, copy);
    } finally {
      copy.remove();
    }
    followed.add(example);
  },
);

async function follow(example: RecipeExample, copy: WorkCopy): Promise<void> {
  const commands: Readonly<Record<Check, string>> = {
    types,
    generate: generateCheck,
    tests: `npx vitest run --maxWorkers=1 ${recipes.get(example.recipe)?.tests.join(' ')}`,
  };
  const files = example.steps.map(({ file }) => file);
  const edit = (edits: readonly Edit[]): void => {
    copy.restore(files);
    for (const each of edits) copy.edit(each);
  };

  edit(example.steps);
  if (example.generate !== undefined) expect(await copy.failureOf('npm run -s generate')).toBeUndefined();
  for (const command of Object.values(commands)) expect(await copy.failureOf(command), command).toBeUndefined();

  for (const { leftOut, edits, isGenerated, check, message } of omissionsOf(example)) {
    edit(edits);
    if (isGenerated && check !== 'types') await copy.failureOf('npm run -s generate');
    const failure = await copy.failureOf(commands[check]);
    expect
      .soft(failure?.replace(/\(\d+,\d+\)/g, ''), `${example.example}, without ${leftOut}`)
      .toContain(message.trim());
  }
}
