import type { ErrorObject } from 'ajv/dist/2020.js';
import { strictAjv } from '../gateway/spec/strict-ajv.ts';
import { paramSchemas, resultSchemas } from './documents.ts';
import { inlineRefs } from './inline-refs.ts';
import { partsOf, resolve, typeOfRef, type JsonSchema, type Types } from './json-schema.ts';
import { isA } from './method-table.ts';
import { objectInResult } from './result-object.ts';
import type { ExampleSource, MethodSource, Sources } from './read-sources.ts';
import { methodRules } from './source-rules.ts';

/** What may stand beside a `$ref`: the generator reads it, validators do not. */
const besideRef = ['$ref', 'description', 'x-gatehouse'];

/** Everything that is wrong with the hand-written files, each as a sentence. */
export function findProblems(sources: Sources): string[] {
  // Each step relies on the one before: what has no form cannot be resolved, what does not resolve cannot be compiled.
  for (const step of [formProblems, refProblems, titleProblems, paramProblems, extensionProblems, exampleProblems]) {
    const problems = step(sources);
    if (problems.length > 0) return problems;
  }
  return [];
}

function formProblems({ methods }: Sources): string[] {
  const ajv = strictAjv();
  const fits = ajv.compile(methodRules);
  const names = methods.map((method) => method.name);
  return [
    ...methods.flatMap((method) => (fits(method) ? [] : [`${method.name}: ${formProblem(fits.errors?.[0])}`])),
    ...deduplicated(names).map((name) => `${name}: stands here twice`),
  ];
}

function formProblem(error: ErrorObject | undefined): string {
  const unknown = (error?.params as { additionalProperty?: string } | undefined)?.additionalProperty;
  const where = error?.instancePath.slice(1) ?? '';
  if (unknown !== undefined) return `${where} has a key ${unknown} that the generator does not know`.trimStart();
  return `${where} ${error?.message ?? 'is malformed'}`.trimStart();
}

function refProblems({ methods, types, frame }: Sources): string[] {
  const inTypes = Object.entries(types).flatMap(([name, schema]) => badRefs(schema, types, [name]));
  const inMethods = methods.flatMap(({ name, params, result, errors }) => [
    ...[...params, result].flatMap(({ schema }) => badRefs(schema, types, [name])),
    ...errors
      .filter(({ $ref }) => !($ref.slice('#/components/errors/'.length) in frame.components.errors))
      .map(({ $ref }) => `${name}: ${$ref} does not exist`),
  ]);
  return [...new Set([...inTypes, ...inMethods])];
}

/** `trail`: where we are, then the types that led here. Inlining would never end where one of them comes again. */
function badRefs(schema: JsonSchema, types: Types, trail: readonly string[]): string[] {
  const inParts = partsOf(schema).flatMap((part) => badRefs(part, types, trail));
  if (schema.$ref === undefined) return inParts;
  const name = typeOfRef(schema.$ref);
  const target = types[name];
  const beside = Object.keys(schema).filter((key) => !besideRef.includes(key));
  if (beside.length > 0) return [`${trail.join(' > ')}: ${beside.join(', ')} beside ${schema.$ref} would be lost`];
  if (target === undefined) return [`${trail.join(' > ')}: ${schema.$ref} does not exist`];
  if (trail.includes(name)) return [`${trail.join(' > ')}: refers to ${name} again`];
  return [...inParts, ...badRefs(target, types, [...trail, name])];
}

function titleProblems({ types }: Sources): string[] {
  const untitled = Object.keys(types).filter((name) => types[name]?.title === undefined);
  const titles = Object.values(types).flatMap((schema) => schema.title ?? []);
  return [
    ...untitled.map((name) => `${name}: has no title, so a message could not say what was expected`),
    ...deduplicated(titles).map((title) => `two types have the title "${title}"`),
  ];
}

function paramProblems({ methods, types }: Sources): string[] {
  return methods.flatMap(({ name, params }) => {
    const untitled = params.filter((param) => resolve(param.schema, types).title === undefined);
    const firstOptional = params.findIndex((param) => !param.required);
    const late = firstOptional < 0 ? [] : params.slice(firstOptional).filter((param) => param.required);
    return [
      ...untitled.map((param) => `${name}: ${param.name} needs a type with a title`),
      ...late.map((param) => `${name}: ${param.name} is required but stands behind an optional parameter`),
      ...deduplicated(params.map((param) => param.name)).map((param) => `${name}: two parameters are called ${param}`),
    ];
  });
}

function extensionProblems({ methods, types }: Sources): string[] {
  const capped = Object.entries(types).flatMap(([type, { properties = {} }]) =>
    Object.entries(properties).flatMap(([name, field]) =>
      typeof field === 'object' && field['x-gatehouse']?.gasCap === true && !isA('Quantity', field)
        ? [`${type}.${name}: gasCap must be at a quantity`]
        : [],
    ),
  );
  const inMethods = methods.flatMap((method) => {
    const { identity = {}, details = {}, cache } = method['x-gatehouse'] ?? {};
    const fields = types[objectInResult(method, types) ?? '']?.properties ?? {};
    const misnamed = Object.entries(identity).filter(
      ([field, name]) =>
        !(isA('Hash', fields[field]) || isA('Quantity', fields[field])) ||
        !method.params.some((param) => param.name === name),
    );
    const lost = Object.entries(details).filter(
      ([field, name]) => !(field in fields) || !method.params.some((param) => param.name === name),
    );
    return [
      ...lost.map(([field]) => `${method.name}: details.${field} must be a field of the result, and name a parameter`),
      ...(typeof cache === 'object' && !method.params.some((param) => param.name === cache.at)
        ? [`${method.name}: cache.at must name a parameter`]
        : []),
      ...misnamed.map(
        ([field]) => `${method.name}: identity.${field} must be a hash or quantity of the result, and name a parameter`,
      ),
    ];
  });
  return [...capped, ...inMethods];
}

function exampleProblems(sources: Sources): string[] {
  const ajv = strictAjv();
  // Types that no method uses have no example that would show what is wrong with them.
  for (const schema of Object.values(sources.types)) ajv.compile(inlineRefs(schema, sources.types));
  const params = paramSchemas(sources);
  const results = resultSchemas(sources);
  return sources.methods.flatMap((method) => {
    const paramsFit = ajv.compile(params[method.name] ?? false);
    const resultFits = ajv.compile(results[method.name] ?? false);
    return method.examples.flatMap((example) => {
      const values = example.params.map(({ value }) => value);
      return [
        ...misnamed(method, example),
        ...(paramsFit(values) ? [] : [ajv.errorsText(paramsFit.errors, { dataVar: 'params' })]),
        ...(resultFits(example.result.value) ? [] : [ajv.errorsText(resultFits.errors, { dataVar: 'result' })]),
      ].map((what) => `${method.name}: example "${example.name}": ${what}`);
    });
  });
}

function misnamed(method: MethodSource, example: ExampleSource): string[] {
  return example.params
    .filter(({ name }, index) => name !== method.params[index]?.name)
    .map(({ name }) => `${name} is not the parameter at this place`);
}

function deduplicated(names: readonly string[]): string[] {
  return [...new Set(names.filter((name, index) => names.indexOf(name) !== index))];
}
