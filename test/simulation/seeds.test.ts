import { testSeeds } from './seeds.ts';

/** Further seeds, and whole hours, are in test/hours. */
testSeeds([1], 10);
