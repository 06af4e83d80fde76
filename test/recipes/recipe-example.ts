import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { packageRoot } from '../../gateway/config/package.ts';

const folder = 'test/recipes/examples';

/** An edit of one file: a unified diff in which `@@` has no line numbers. With added lines only, the file is new. */
export interface Edit {
  readonly file: string;
  readonly diff: string;
}

/** `npm run types`, `npm run generate:check`, or the tests of the recipe. */
export type Check = 'types' | 'generate' | 'tests';

/** A step, or a part of one. */
interface Omittable {
  /** The check that fails without it, and what it prints, without positions (`(12,3)`). */
  readonly check: Check;
  readonly message: string;
}

/** A recipe of CONTRIBUTING.md, followed literally. One file of test/recipes/examples/. */
export interface RecipeExample {
  /** The name in CONTRIBUTING.md. */
  readonly recipe: string;
  readonly example: string;
  /** The numbered steps. */
  readonly steps: readonly (Edit & Omittable)[];
  /** Output if files are generated from the edited ones: what the checks print without `npm run generate`. */
  readonly generate?: Omittable;
  /** Edits that undo a part of a step. */
  readonly parts?: readonly (Edit & Omittable & { readonly part: string })[];
}

export interface Omission extends Omittable {
  readonly leftOut: string;
  readonly edits: readonly Edit[];
  readonly isGenerated: boolean;
}

export function readExamples(): RecipeExample[] {
  return readdirSync(join(packageRoot, folder)).map(
    (name) => parse(readFileSync(join(packageRoot, folder, name), 'utf8')) as RecipeExample,
  );
}

/** What can be left out of a recipe: each step, `npm run generate`, and the parts that the example lists. */
export function omissionsOf({ steps, generate, parts = [] }: RecipeExample): Omission[] {
  const isGenerated = generate !== undefined;
  const withoutStep = steps.map(({ file, check, message }, at) => ({
    ...{ leftOut: `step ${at + 1}, \`${file}\``, check, message, isGenerated },
    edits: steps.filter((_, index) => index !== at),
  }));
  const stale = isGenerated ? [{ leftOut: '`npm run generate`', ...generate, edits: steps, isGenerated: false }] : [];
  const withoutPart = parts.map((part) => ({ leftOut: part.part, ...part, edits: [...steps, part], isGenerated }));
  return [...withoutStep, ...stale, ...withoutPart];
}

/**
 * @param text of the file; undefined: there is no such file
 * @throws Error if the lines that a hunk replaces are not there exactly once
 */
export function applyEdit(text: string | undefined, { file, diff }: Edit): string {
  const hunks = diff.split(/^@@\n/m).filter((hunk) => hunk !== '');
  return hunks.reduce((edited, hunk) => {
    const lines = hunk.trimEnd().split('\n');
    const side = (sign: string): string =>
      lines.flatMap((line) => (line.startsWith(sign) ? [] : [`${line.slice(1)}\n`])).join('');
    const [before, after] = [side('+'), side('-')];
    if (before === '' && edited === '') return after;
    const [head = '', tail, ...others] = edited.split(before);
    if (before === '' || tail === undefined || others.length > 0) {
      throw new Error(`${file} does not have these lines exactly once: mend the example of the recipe:\n${before}`);
    }
    return head + after + tail;
  }, text ?? '');
}
