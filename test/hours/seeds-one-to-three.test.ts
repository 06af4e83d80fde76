import { testSeeds } from '../simulation/seeds.ts';

testSeeds([1, 2, 3]);
