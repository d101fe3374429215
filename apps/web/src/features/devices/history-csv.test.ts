import assert from 'node:assert/strict';
import { test } from 'node:test';
import { joinedCsv } from './history-csv.ts';

test('histories of several devices are one file, with names that no spreadsheet takes for something else', () => {
  const csv = joinedCsv([
    { device: 'Hall, "old"', text: 'time,value\r\n1,20\r\n2,21\r\n' },
    { device: '=1+1', text: 'time,value\r\n1,5\r\n' },
  ]);
  assert.equal(csv, `device,time,value\r\n"Hall, ""old""",1,20\r\n"Hall, ""old""",2,21\r\n'=1+1,1,5\r\n`);
});

test('a text with line breaks stays one cell', () => {
  const text = `time,value\r\n1,"a\r\n'=1+1"\r\n`;
  assert.equal(joinedCsv([{ device: 'Hall', text }]), `device,time,value\r\nHall,1,"a\r\n'=1+1"\r\n`);
});
