"""The answer's side of `checker.py` in JavaScript: run the program in the file answer, then call what it defines.

It has the rights and the place of the answer, and what it says is a value like any other; the tests are elsewhere.
"""

DRIVER = r"""
(() => {
"use strict";
const fs = require("fs"), vm = require("vm");
const held = [], holder = { exports: {} };
const plain = (value, depth = 0) => {
  if (value === null || value === undefined) return null;
  if (typeof value === "boolean" || typeof value === "string") return value;
  if (typeof value === "number") return Number.isFinite(value) ? value : { opaque: 0 };
  if (typeof value === "bigint") return { int: value.toString().replace(/\d+/, (d) => "0x" + BigInt(d).toString(16)) };
  if (depth > 200) return { opaque: 0 };
  if (Array.isArray(value)) return { list: Array.from(value, (item) => plain(item, depth + 1)) };
  if (value instanceof Map) return { dict: [...value].map((pair) => pair.map((item) => plain(item, depth + 1))) };
  if (value instanceof Set) return { set: [...value].map((item) => plain(item, depth + 1)) };
  const kind = typeof value === "object" ? Object.getPrototypeOf(value) : value;
  if (kind === null || kind === Object.prototype)
    return { dict: Object.keys(value).map((name) => [name, plain(value[name], depth + 1)]) };
  return { object: held.push(value) - 1 };
};
const decoded = (value) => {
  if (value === null || typeof value !== "object") return value;
  const [[name, content]] = Object.entries(value);
  if (name === "int") {
    const whole = BigInt(content.replace("-", "")) * (content[0] === "-" ? -1n : 1n);
    return Number.isSafeInteger(Number(whole)) ? Number(whole) : whole;
  }
  if (name === "dict") return Object.fromEntries(content.map(([key, item]) => [decoded(key), decoded(item)]));
  if (name === "set" || name === "frozenset") return new Set(content.map(decoded));
  if (name === "object") return held[content];
  return content.map(decoded);
};
const said = (value) => {
  const line = Buffer.from(JSON.stringify(value) + "\n");
  for (let place = 0; place < line.length; ) place += fs.writeSync(31, line, place);
};
let rest = Buffer.alloc(0);
const asked = () => {
  for (;;) {
    const end = rest.indexOf(10);
    if (end >= 0) {
      const line = rest.subarray(0, end).toString();
      rest = rest.subarray(end + 1);
      return JSON.parse(line);
    }
    const piece = Buffer.alloc(65536), read = fs.readSync(30, piece, 0, piece.length, null);
    if (!read) process.exit(0);
    rest = Buffer.concat([rest, piece.subarray(0, read)]);
  }
};
const failed = (error) => said({ error: "Error", message: String((error && error.message) || error).slice(0, 500) });
const named = (name) => {
  const found = vm.runInThisContext(`typeof ${name} === "undefined" ? undefined : ${name}`);
  if (found !== undefined) return found;
  const given = holder.exports;
  return given && given[name] !== undefined ? given[name] : typeof given === "function" ? given : undefined;
};
const isClass = (target) => typeof target === "function" && /^class\b/.test(Function.prototype.toString.call(target));
const called = (target, list) => (isClass(target) ? new target(...list) : target(...list));
(async () => {
  globalThis.require = require;
  globalThis.module = holder;
  globalThis.exports = holder.exports;
  globalThis.console = { ...console, log() {}, error() {}, warn() {}, info() {}, debug() {}, table() {} };
  try {
    const program = fs.readFileSync("answer", "utf8").replace(/^export\s+(default\s+)?(?=\S)/gm, "");
    vm.runInThisContext(program, { filename: "answer.js" });
    said({ value: true });
  } catch (error) {
    failed(error);
    process.exit(1);
  }
  for (;;) {
    const [name, list, words, target] = decoded(asked());
    try {
      if (Object.keys(words || {}).length) throw new Error("JavaScript has no arguments by name");
      if (target !== null && target !== undefined) {
        const method = name === "" ? target : target[name];
        said({ value: plain(await (typeof method === "function" ? method.apply(target, list) : method)) });
        continue;
      }
      const found = named(name);
      said(found === undefined ? { missing: name } : { value: plain(await called(found, list)) });
    } catch (error) {
      failed(error);
    }
  }
})();
})();
"""
