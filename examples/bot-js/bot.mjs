// A bot that answers for people: reading is fine, removing is not, the rest
// waits for somebody. It is a NATS client and nothing else.
import { connect } from "@nats-io/transport-node";

function decide({ tool_name, arguments: args }) {
  if (/\b(rm|rmdir|del|delete|remove)\b/.test(`${tool_name} ${JSON.stringify(args)}`))
    return { action: "deny", note: "Nothing is removed here. Move it to trash/ instead." };
  if (/^(read|list|get)_\w+$/.test(tool_name)) return { action: "approve" };
}

const nc = await connect({ servers: process.env.NATS_URL ?? "nats://127.0.0.1:4143" });
const requests = nc.subscribe("heldcall.v1.requests.>");
await nc.flush();
console.log("ready");
for await (const message of requests) {
  const { id, tool_name, arguments: args } = message.json();
  const decision = decide({ tool_name, arguments: args });
  console.log(id, JSON.stringify(tool_name), JSON.stringify(args), "->", decision ?? "waits for people");
  if (!decision) continue;
  const reply = await nc.request(`heldcall.v1.decide.local.${id}`, JSON.stringify(decision), { timeout: 10_000 });
  const { status, code, message: why } = reply.json(); // the request as it now stands, or {code, message}
  console.log(id, status ?? `${code}: ${why}`);
}
