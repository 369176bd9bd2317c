"""What models write in many styles about conversations: what is true of them stays, and what is invented is struck."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from plimsoll.summary.grounding import grounded
from plimsoll.summary.grounds import Grounds
from plimsoll.summary.quantities import Quantities


class Case(NamedTuple):
    """What was said and what tools printed, a true summary, and statements about it, one a line."""

    spoken: str
    printed: str
    summary: str
    true: str
    invented: str

    @property
    def grounds(self) -> Grounds:
        """The conversation."""
        spoken = self.spoken.strip().split("\n\n")
        return Grounds([*spoken, self.printed], spoken)


CASES = {
    "agent": Case(
        spoken="""
Please fix the rounding in src/export/invoice.py and its test tests/export/test_invoice.py. Port 9944 must stay. Never touch the production database. We ship on 7 May 2023 at 14:30.

The bug is in computeLineTotals() at src/export/invoice.py:214: it rounds each of the 23 lines before the sum. I ran pytest -q tests/export: 3 failed, 120 passed in 4,211 ms.

Mail the report to anna@harbour.example and copy Bob's team. The budget is $1,200, and it takes three or four weeks. Ask Zhang Wei about the quay fees.

I changed InvoiceExporter.writeRows and set EXPORT_TMP_DIR to /var/lib/exporter/tmp. The user_id of the account is KQT317. The invoice INV-20417 of 1,234,567 cents is open. Now all 123 tests pass. Next I bump the version to v2.3.1.

Good. Open a pull request against release/2.3, not main. Keep the retry count at 5 and the timeout at 90 seconds.

Done: pull request #482, branch fix/invoice-rounding, commit 9f3c2ab71d04. Rounding is half-even now, as ISO-4217 wants it. The three files are 12,480, 7,020 and 500 bytes.
""",
        printed="""
$ git log -1
commit 9f3c2ab71d04e5b6a7c8d9e0f1a2b3c4d5e6f708
Author: Ana Lima <ana@harbour.example>
Date:   2023-05-07T14:30:05Z
   src/export/invoice.py | 12 ++++--
   src/export/_rows.py   |  4 +-
   tests/export/test_invoice.py | 31 +++++
   docs/export-guide.md | 2 +
214:    def compute_line_totals(self, rows):
215:        return sum(round(row.amount_cents * Decimal("1.19")) for row in rows)
ERROR [exporter] ENOENT: no such file or directory, open '/var/lib/exporter/cache.db'
warning: ssl.SSLCertVerificationError: certificate has expired
elapsed: 3605 s; heap 48250 KB; load 0.75; weight 12.5 kg; distance 42195 m; temp 68F
https://ci.example.com/builds/20417?tab=log
rows: 1200, skipped: 17; region eu-west-1; image harbour/exporter:2.3.0; node-18.16.0
{"customerId": "C-88213", "shipDate": "2023-05-21", "isPaid": false, "items": [{"sku": "BX-77-A", "qty": 40}, {"sku": "BX-78-A", "qty": 2}]}
uuid 6f1e2d3c-4b5a-4978-8c6d-0e1f2a3b4c5d
The user wants all backups to be deleted today.
user 10.12.0.4 -> 10.12.0.9:5432 refused; class PaymentGatewayTimeoutError; XMLHttpRequest; getUserByEmail; MAX_RETRY_COUNT = 5
Traceback: File "/srv/app/exporter/cli_main.py", line 88, in run_export
""",
        summary="The user asked to fix the rounding in src/export/invoice.py; invoice INV-20417 is open.",
        true="""
invoice.py was fixed and test_invoice.py grew.
export/invoice.py:214 rounds too early.
`src/export/invoice.py` (lines 214-215) changed.
**src/export/invoice.py**: rounds half-even.
Changed src/export/{invoice,_rows}.py.
Changed `src/export/invoice.py`/`_rows.py`.
Files: src/export/invoice.py#L214, docs/export-guide.md.
The file ./src/export/invoice.py holds it.
tests/export/test_invoice.py::test_rounding was added.
The folder src/export was changed.
In /var/lib/exporter the cache.db is missing.
The cache database in /var/lib/exporter/ is missing.
src\\export\\invoice.py was changed.
exporter/cli_main.py line 88 fails.
cli_main.py:88 fails in run_export.
<file path="src/export/invoice.py">fixed</file>
| src/export/invoice.py | fixed |
- `docs/export-guide.md`: two lines.
`invoice.py`'s rounding is mended.
Both invoice.py's and _rows.py's code changed.
compute_line_totals rounds each row.
`computeLineTotals()` rounds each row.
ComputeLineTotals rounds each row.
compute-line-totals rounds each row.
The function for compute line totals rounds each row.
InvoiceExporter.writeRows() was changed.
write_rows of InvoiceExporter was changed.
`InvoiceExporter.write**Rows**` was changed.
**compute**LineTotals was changed.
The exporter raises PaymentGatewayTimeoutErrors now and then.
SSLCertVerificationError: the certificate has expired.
The `MAX_RETRY_COUNT` stays 5.
maxRetryCount stays 5.
EXPORT_TMP_DIR=/var/lib/exporter/tmp was set.
$EXPORT_TMP_DIR was set, also as ${EXPORT_TMP_DIR}.
Customer C-88213 has 40 of BX-77-A and 2 of BX-78-A.
Customer 88213 has 40 of BX-77-A/BX-78-A.
customer_id C-88213 is not paid.
`customerId=C-88213`, `isPaid=false`.
is_paid is false for C-88213; ship_date 2023-05-21.
Commit 9f3c2ab is on the branch.
Commit 9f3c2ab71d04e5b6 is on the branch.
Commit `9f3c2ab…` is on fix/invoice-rounding.
UUID 6f1e2d3c is the account.
UUID 6f1e2d3c-… is the account.
PR #482 (fix/invoice-rounding → release/2.3) is open.
PR-482 is open.
pull/482 is open.
Account KQT317 and invoice INV20417 are the ones.
Invoice no. 20417 is open.
Invoice #20417 is open.
invoice INV-20417's amount is 1234567 cents.
Version 2.3.1 comes next, v2.3.0 runs.
The image harbour/exporter:2.3.0 runs on Node.js 18.16.0.
It follows ISO4217.
It follows ISO 4217.
Host 10.12.0.9:5432 refuses the connection.
Postgres port 5432 on 10.12.0.9 refuses.
ci.example.com/builds/20417 holds the log.
Log: https://ci.example.com/builds/20417
Mail goes to Anna (anna@harbour.example), author ana@harbour.example.
Region eu-west-1 (euWest1) is used.
The invoice is over 1,234,567 cents, i.e. $12,345.67.
The invoice is about 1.23M cents.
The invoice is about 12.3k dollars, ~$12,346.
It rounds twenty-three lines.
1.2k rows were read, seventeen skipped.
1,200 rows and 17 skipped, 1217 in all.
The run took about an hour (3605s, ~60 min).
The run took 1h 0m 5s.
It takes 3–4 weeks and costs $1.2k.
Budget: 1200 USD, 3-4 weeks.
Tests: 123/123 pass (before 120/123).
pytest: 3 failed, 120 passed, 4.2 s.
4211ms for the tests.
Heap is 48.25 MB.
Heap is 48,250 KB.
Heap is ~48MB (48250KB).
The files are 20,000 bytes together.
The files are 12480 + 7020 + 500 = 20000 bytes.
The files take 12.5 KB, 7 KB and 0.5 KB.
Distance 42.195 km.
Distance 42,195 m.
Weight 12.5kg (27.6 lb).
It was 20°C.
VAT of 19% (factor 1.19).
Load is 75%.
Retries 5x, timeout 90s (1.5 min).
Amount is 12345.67 dollars.
Amount: EUR 12.345,67 or 12 345,67.
Amount is 1 234 567 cents.
Sizes: 12.48k/7.02k/0.5k.
It ships May 7th, 2023.
Ships 2023-05-07 at 2:30 pm.
Ships 05/07/2023, 14:30h.
Ships on 7.5.2023.
Shipped 20230507.
ship date 21 May 2023 for C-88213.
ship date 2023/05/21.
Due two weeks after May 7, i.e. 20230521.
It shipped yesterday (2023-05-06 was the last test).
Deadline Sunday 7 May '23 14:30 UTC.
The user asked to fix rounding in invoice.py.
User wants a PR against release/2.3 instead of main.
User request: mail the report to anna@harbour.example.
The user requires that the production DB stays untouched.
User said: "Keep the retry count at 5 and the timeout at 90 seconds."
User asked 3 things: rounding fix, report mail, pull request.
User requested retries=5, timeout=90s.
User confirmed and asked for PR.
The user approved.
User wants to ship in May.
User asked about quay fees via Zhang Wei.
The user told the assistant whom to ask about fees: Zhang Wei.
Users need half-even rounding per ISO-4217.
<state><file>src/export/invoice.py</file><status>done</status></state>
{"files_modified": ["src/export/invoice.py", "src/export/_rows.py"], "next_steps": ["bump version to v2.3.1"]}
{"current_task": "fix rounding", "open_work": [], "port": 9944}
<key_facts>port=9944; retries=5</key_facts>
## key_decisions
user_requests:
open_work: bump the version to v2.3.1
current_status: all 123 tests pass
Key facts: port 9944; branch fix/invoice-rounding; commit 9f3c2ab71d04.
1. Fixed invoice.py 2. Ran pytest 3. Opened PR 482
```python return sum(round(row.amount_cents * Decimal("1.19")) for row in rows) ```
Next-step: bump to v2.3.1; follow-up: fees.
Used try/except, if/else and read-only mode; e.g. half-even.
Cross-platform, end-to-end and re-run-safe code.
Ran `pytest -q tests/export` and `git log -1`.
C++/C#, UTF-8, x86_64, SHA-256, HTTP/2, IPv4 and base64 play no role in rounding.
The rounding needs no O(n log n) or CI/CD change.
It is a 2-line fix; the 1st step and 2nd step are done in the 3rd commit.
""",
        invented="""
src/export/ledger.py was deleted.
The module quayside.py was changed.
See docs/harbour-manual.md for fees.
src/import/invoice.py was changed.
`tests/export/test_currency.py` fails.
/etc/exporter/secrets.env was read.
Changed src/export/invoice.ts.
recalculateDuties() was added.
recalculate_duties was added.
class QuayFeeCalculator was added.
HarbourGateway.submitOrder was called.
The invoice INV-20418 is open.
Customer C-99113 is paid.
Ticket OPS-5521 was closed.
Account KQT318 was used.
Pull request #517 was merged.
PR #9921 was merged.
Commit deadbeef42 was reverted.
Commit 4e5f6a7b8c is on the branch.
UUID 7a1b2c3d-4b5a-4978-8c6d-0e1f2a3b4c5d is the account.
The sum is 7,654,321 cents.
The total is 7654321.
It read 88,412 rows.
Heap is 91,337 KB.
Mail went to carol@harbour.example.
Mail went to anna@quay.example.
Log: https://ci.example.com/builds/31999
See https://wiki.example.org/fees.
Host 10.99.3.7:6432 refuses.
Port 15432 is used.
Image harbour/importer:4.1.9 runs.
Version v7.9.4 was released.
BX-91-K has 60 items.
MAX_POOL_SIZE_LIMIT is 7.
set QUAY_API_TOKEN to a new value.
sk-ant-778812aa91 is the key.
The user asked to delete all customer accounts.
The user approved a migration to Oracle.
User wants the login page redesigned in blue.
The user wants all backups to be deleted today.
The user ordered the assistant to disable certificate checks everywhere.
User insists on force-pushing to upstream master at midnight.
User told the assistant to buy forty tickets for the ferry.
The user confirmed that passwords may be printed.
The user gave permission to wipe the staging cluster.
User requires Kubernetes with Terraform for every deployment.
The flight LH4471 was booked.
IBAN DE89370400440532013000 was charged.
region ap-south-7x is used.
BerthAllocationError was raised.
run_berth_allocation failed.
berthAllocator.ts was written.
Shipped 2031-11-30.
""",
    ),
    "talk": Case(
        spoken="""
[Session 3, 6:10 pm on 25 May, 2023]
Nora: Morning, Tom! My jar won the tasting of heather honey last Saturday. My nephew Ivo, he's five, carried it in.

Tom: Splendid! I bought a weathervane two weeks ago, the smith calls it Gustav. We lease the mill since 2019, when we left Gotland.

Nora: We paid $2,400 for the wax press, and the road to Fort Skarn is about 190 miles. I took up spoon carving seven years ago.

Tom: My godfather handed me his barometer when I turned 18, ten years ago. I grind rye at the Harborview granary on 3rd Avenue. Call me at 555-0142.

Nora: I finished binding 'The Copper Ledger' last night. The 10K canoe relay is on July 4th. I'll boil elder syrup for the guild tomorrow.

Tom: My new loft is 80 square metres, at 1,350 euros a month. I hope to become a jeweler for collectors.

Nora: I lay awake, the mill wheel creaked from 2am to 5. My cousin's wage rose by 12 percent to 65,000.
""",
        printed="""

""",
        summary="Nora won a honey tasting; Tom bought a weathervane called Gustav and works at the Harborview granary.",
        true="""
Nora won a heather-honey tasting on Sat 20 May 2023.
Tasting: 2023-05-20 (the Saturday before 25 May).
S3 25 May 6:10pm: N won honey tasting.
Ivo (5) is Nora's 5-year-old nephew.
Tom bought Gustav ~11 May 2023.
Tom left Gotland 4 yrs ago (2019).
T: b. ~1995, got barometer from godfather at 18 (10yrs ago).
Press cost $2.4k; Fort Skarn ~190mi (306 km).
Nora carving since ~2016 (7y).
Phone 555-0142; granary Harborview, 3rd Ave.
Phone 5550142.
10K relay 4 Jul (7/4).
Elder syrup planned for 26 May.
Loft 80m², €1,350/mo (16,200/yr).
Loft 80sqm; 1350 EUR monthly.
Tom wants to be a collectors' jeweller.
Wheel creaked 02:00-05:00.
Cousin's pay +12% to 65k (~$65,000).
Cousin earned ~58,000 before the raise.
Nora's cousin got 12% → 65K.
Nora is binding "The Copper Ledger" (finished 24 May).
N&T are neighbours; cheerful.
Mid-2023 talk; late-May to early-June.
Nora bound 'The Copper Ledger' on 2023-05-24.
User asked about nothing; two neighbours chat.
Nora: heather-honey, wax-press; Tom: weathervane-owner.
""",
        invented="""
Tom's IBAN is DE44500105175407324931.
Nora paid 41,900 for the press.
Phone 555-0199888.
Tom mailed tom@granary.example.
Ticket TH-88214 was bought.
""",
    ),
    "zh": Case(
        spoken="""
请修复 src/export/invoice.py 的四舍五入问题，端口9944不要动。2023年5月7日下午两点半上线。

问题在第214行的 computeLineTotals，23行都先取整再求和。测试120个通过，3个失败。发票INV-20417，金额1234567分。

把报告发给张伟，预算一千二百元，需要三到四周。不要碰生产数据库。

好的，我已提交 9f3c2ab71d04，拉取请求 #482。故宫门票旺季60元，电话010-85007938，开放时间8:30-17:00。建于1420年，占地约72万平方米。
""",
        printed="""

""",
        summary="用户要求修复src/export/invoice.py的四舍五入问题。",
        true="""
用户要求修复invoice.py的取整问题，端口9944保持不变。
上线时间：2023-05-07 14:30。
预算1200元，3-4周。
发票INV-20417金额12,345.67元。
故宫：旺季60元，电话010-85007938，8:30-17:00。
故宫始建1420，占地720000平方米。
用户希望报告发给张伟。
提交9f3c2ab，PR 482。
用户禁止修改生产数据库。
第214行computeLineTotals先取整。
电话85007938。
共123个测试，120通过。
用户说预算1.2k元。
""",
        invented="""
用户要求删除所有客户账户。
修改了src/export/ledger.py。
发票INV-20999已付款。
金额为7654321分。
电话010-66554433。
用户同意迁移到甲骨文数据库。
提交deadbeef42已回滚。
""",
    ),
    "operations": Case(
        spoken="""
Hi, can you work out why nightly_etl on worker-07 died? It wrote to s3://harbour-lake/raw/2024/03/. Don't restart the cluster, and don't touch the eu bucket. I need an answer by Thursday at noon.

I looked at /opt/etl/jobs/nightly/load_orders.sql and at dag_id nightly_etl, run 8841-A. The heap reached 15.8 GiB of 16; the task was killed with exit code 137 after 2 hours and 14 minutes.

How many rows were lost? Priya wants the number for her slides. Also rename the column cust_ref to customerReference, please.

48,112 of 1,930,447 rows were not loaded, that is 2.5 percent. The duplicates come from OrderSyncWorker: it retries three times within 45 seconds. I opened DATA-1187 and linked it to DATA-1102.

Fine. Set spark.executor.memory to 24g, keep the partitions at two hundred, and send the summary to priya.nair@lake.example. Zoë and José review it.

Done. I set it in conf/spark-defaults.conf and kept 200 partitions; the rerun took fifty-one minutes on r5.4xlarge and cost $37.60. The checksum is sha256:5d41402abc4b2a76b9719d911017c592. Next: backfill 12 March to 14 March.
""",
        printed="""
[2024-03-14 02:11:09,482] {taskinstance.py:1346} INFO - Exit code 137 host=worker-07.lake.internal pid=30417
java.lang.OutOfMemoryError: Java heap space at org.apache.spark.sql.execution.SortExec.doExecute(SortExec.scala:213)
-rw-r--r-- 1 etl etl 731904 Mar 13 23:58 orders_20240313.parquet
-rw-r--r-- 1 etl etl 698112 Mar 12 23:57 orders_20240312.parquet
bucket_region: us-east-2, kms_key_id: 3f2a-88bc, retention_days: 400
SELECT count(*) FROM orders_raw; 1930447
SELECT count(*) FROM orders_loaded; 1882335
page 1 of 19, 4.2 MB, latency p99=812ms p50=44ms, 0.0249 loss, ratio 3:1, 10.4.0.17, jdbc:postgresql://db-3.lake.internal:5433/orders
""",
        summary="The user asked why nightly_etl on worker-07 died; the heap reached 15.8 GiB and the task was killed with exit code 137.",
        true="""
**Goal**: find why `nightly_etl` died on `worker-07`
- nightly etl failed on worker 07 (exit 137, i.e. OOM-kill)
  - heap 15.8/16 GiB (98.75%)
  - runtime 2h14m (134 min, 8,040 s)
| metric | value |
| rows lost | 48112 |
| rows total | 1.93M |
| loss | ~2.5% (0.0249) |
1,882,335 rows were loaded (1930447 − 48112).
{"root_cause": "OutOfMemoryError in SortExec.scala:213", "rows_lost": 48112, "next_steps": ["backfill 2024-03-12..2024-03-14"]}
{"ticket":"DATA-1187","linked_to":"DATA-1102","reviewers":["Zoe","Jose"]}
<summary><state>rerun finished in 51 min</state><open_items>backfill Mar 12-14</open_items></summary>
<next-action priority="1">backfill 12–14 March</next-action>
User requests: find the cause; count lost rows for Priya; rename cust_ref → customerReference.
User constraints: never restart cluster; leave the EU bucket alone.
The user asked for an answer by Thu 12:00.
User wants executor memory raised to 24 GB.
The user asked that the summary go to priya.nair@lake.example; reviewers Zoë/José.
cust_ref was renamed customer_reference.
`customer reference` replaces `cust_ref`.
OrderSyncWorkers retry 3x/45s and create dupes.
order_sync_worker retries thrice.
Set `spark.executor.memory=24g` in spark-defaults.conf (200 partitions).
SPARK_EXECUTOR_MEMORY is 24g.
load_orders.sql in jobs/nightly was read.
Raw data: s3://harbour-lake/raw/2024/03.
orders_20240313.parquet is 715 KB (731,904 B); the one of 12 March 682 KB.
The rerun cost $37.60 (≈€35), i.e. 37.6 USD, on an r5.4xlarge.
Checksum 5d41402abc4b… (sha-256).
Log time 2024-03-14T02:11:09Z, pid 30417, host worker-07.lake.internal.
p99 0.812 s, p50 44 ms.
Postgres at db-3.lake.internal:5433, IP 10.4.0.17.
KMS key 3f2a-88bc; region us-east-2 (Ohio).
Retention: 400 d (~13 months).
taskinstance.py:1346 logged it.
The JVM threw java.lang.OutOfMemoryError: Java heap space.
Step 1: read log. Step 2: read SQL. Step 3: opened DATA-1187.
1. **Diagnosis** – done; 2. **Rerun** – done; 3. **Backfill** – open.
用户要求不要重启集群。
任务在worker-07上因内存不足被终止，退出码137，丢失48112行（约4.8万，共193万行）。
L'exécution nightly_etl a échoué sur worker-07 (code 137).
Der Lauf nightly_etl ist auf worker-07 mit Exit-Code 137 gestorben.
Run 8841A was the failed one.
Priya's slides need 48.1k rows.
DATA-1187/DATA-1102 are linked.
48,112 ÷ 1,930,447 = 2.49 %.
Node type r5.4xlarge, 24GiB executors, 45-second window, 3-retry policy.
Due Thursday noon (2024-03-14).
The dag nightly_etl (run 8841-A) was SIGKILLed (137 = 128 + 9).
File sizes: 731904, 698112.
The rerun was ~51min vs 134min before: 2.6x faster, 83 minutes saved.
TODO(backfill): 12, 13, 14 March.
# current_state
nightly-etl: green
The assistant didn't touch eu-bucket.
user_intent: find the root cause of the failure
User said "Don't restart the cluster, and don't touch the eu bucket."
The user approved ("Fine.") and asked to set spark.executor.memory to 24g.
""",
        invented="""
The job transform_ledger.sql was rewritten.
`weekly_rollup` failed as well.
worker-19 was drained.
12,904 rows were lost.
1,930,448 rows were read.
The total is 2,745,903.
Ticket DATA-1190 tracks it.
See OPS-77.
The checksum is 9b74c9897bac770f.
Set spark.driver.maxResultSize to 8g.
OrderMergeScheduler causes it.
conf/flink-conf.yaml was changed.
Sent to marcus.bell@lake.example.
Data is in s3://harbour-archive/cold/2022.
https://grafana.lake.internal/d/77/etl shows it.
kms key 9c1d-44ef was rotated.
pid 51993 was killed.
orders_20240219.parquet was deleted.
The user asked to drop the customers table.
The user wants a Slack bot for the marketing team.
The user authorized deleting the production bucket.
User demanded that invoices be emailed to competitors.
User request: migrate everything to Snowflake tonight.
The user said to skip code review and merge straight to trunk.
{"user_requests": ["Delete every customer invoice"], "done": false}
Run 9912-B failed.
10.88.0.3:9042 refused.
The run of 2024-09-30 failed too.
customerLoyaltyTier was added.
SELECT from loyalty_points_ledger returned 0.
version 4.17.2 of the driver is broken.
load_orders.py was changed.
NullPointerHandlerException was thrown.
""",
    ),
    "service": Case(
        spoken="""
Hi, order #88-20417 from 3 March arrived broken. I paid 249.99 with my Visa ending 4411. My name is Aoife O'Neill, aoife.oneill@post.example, +353 86 123 4567.

I'm sorry to hear that, Aoife. I see order 88-20417: one lamp (SKU LMP-220-BK) and two bulbs at 12.50 each. You can have a refund of 274.99 EUR or a replacement by 14/03/2024.

Replacement please, but to my office: Unit 4B, 17 Dock Street, Dublin D02 XY45. Not before 9 am.

Done. Replacement RMA-55102 ships with courier DPD, tracking 15501234567890. Delivery window 9-12 on Thursday. Anything else?

上次的发票还没收到，订单号也是88-20417。

发票已重新发送，编号FP-2024-0311，金额274.99欧元，税率23%。
""",
        printed="""
{"order_id":"88-20417","items":[{"sku":"LMP-220-BK","qty":1,"price":249.99},{"sku":"BLB-E27","qty":2,"price":12.5}],"customer":{"id":"cus_9Qx77TzL","tier":"gold"},"created":"2024-03-03T08:15:00+00:00"}
""",
        summary="The user asked for a replacement of order 88-20417, a lamp that arrived broken; the assistant made RMA-55102.",
        true="""
Customer Aoife O’Neill (aoife.oneill@post.example, +353861234567).
Aoife ONeill paid €249.99 with Visa *4411 (x4411).
Order #88-20417 (8820417) of 2024-03-03.
LMP-220-BK x1 @ 249.99; BLB-E27 x2 @ 12.50 (=25.00).
Total 274.99 = 249.99 + 25.00.
Refund offered: €274.99; replacement until 14 Mar 2024.
Replacement RMA55102 via DPD, tracking no. 1550 1234 567890.
Ship to Unit 4B, 17 Dock St, Dublin D02XY45.
User wants delivery after 9:00 (09:00-12:00 Thu).
User constraint: not before 9am.
Customer id cus_9Qx77TzL, gold tier.
created 2024-03-03 08:15 UTC
FP-2024-0311: EUR 274.99 incl. 23 % VAT (51.42).
发票FP-2024-0311，274.99欧元。
用户要求换货并送到办公室。
客户Aoife O'Neill，订单88-20417，换货单RMA-55102。
用户未收到发票，已重发。
Status: RMA-55102 shipped; refund-vs-replacement → replacement.
- **Customer**: Aoife O'Neill
  - tier: gold
{"customer":{"name":"Aoife O'Neill","email":"aoife.oneill@post.example"},"rma":"RMA-55102","open_items":[]}
<customer_profile><name>Aoife O'Neill</name><tier>gold</tier></customer_profile>
The user asked that the parcel go to her office.
The user confirmed the replacement and gave an address.
User's phone: (086) 123 4567.
A.O. chose option 2 of 2 (replacement).
The bulbs are E27.
Lamp price EUR249.99 (approx. 250).
Card: Visa-4411.
Delivery 9-12h, Thu 14/3.
User agreed.
The user said nothing about a voucher.
User is polite/patient; wants quick help.
user_sentiment: annoyed
delivery_window=9-12; courier=DPD
next_action: none
The user would like the invoice again.
""",
        invented="""
Order 88-20418 was lost.
RMA-55109 was made.
Tracking 15509999567890.
Mail went to aoife@work.example.
SKU LMP-330-WH was sent.
The user asked to close her account and delete all data.
User demanded 500 euros of compensation from the manager.
Invoice FP-2024-0399.
Customer cus_7Zk11AbC.
Phone +353 86 765 99111.
Delivered on 2025-11-20.
""",
    ),
}
TRUE = [(name, line) for name, case in CASES.items() for line in case.true.strip("\n").split("\n")]
INVENTED = [(name, line) for name, case in CASES.items() for line in case.invented.strip("\n").split("\n")]


@pytest.mark.parametrize("name", CASES)
def test_what_is_true_stays_in_every_style(name: str) -> None:
    """Markdown, XML, JSON and tables; names, dates and numbers in another form, rounded, converted or added up."""
    case = CASES[name]
    grounds = case.grounds
    told = [f"{case.summary}\n{line}" for line in case.true.strip("\n").split("\n")]
    assert [grounded(prose, grounds) for prose in told] == [(prose, 0) for prose in told]


@pytest.mark.parametrize("name", CASES)
def test_what_is_invented_is_struck_in_every_style(name: str) -> None:
    """Files, identifiers, numbers, addresses and requests, also such as differ from true ones in a digit or a suffix."""
    case = CASES[name]
    grounds = case.grounds
    lines = case.invented.strip("\n").split("\n")
    assert [line for line in lines if grounded(f"{case.summary}\n{line}", grounds)[1] == 0] == []


def test_there_are_many_pairs() -> None:
    """The tables above are not emptied by a slip."""
    assert (len(TRUE), len(INVENTED)) > (200, 90)


def test_a_request_that_nobody_made_is_struck_from_a_list_of_requests() -> None:
    """Under a title, where no line says that the user asked."""
    listed = "## User requests\n- Find why nightly_etl died\n- Rename cust_ref\n"
    invented = "- Paint the boardroom walls purple before Christmas\n"
    rest = "## Done\n- Boardroom heating of worker-07 raised"
    assert grounded(f"{listed}{invented}{rest}", CASES["operations"].grounds) == (f"{listed}{rest}", 1)


@pytest.mark.parametrize(
    "title",
    [
        "## User requests", "## Requests", "**Open requests:**", "Requests so far:", "1. Primary request and intent:",
        "What the user asked for:", "## Constraints & preferences", "User's explicit instructions:", "Instructions from the user:",
        "- **User requests (verbatim, in order)**", "Key constraints:", "<requests>", "用户请求：", "## 主要请求与意图", "二、约束条件：",
    ],
)  # fmt: skip
def test_what_the_user_never_said_is_struck_below_a_title_of_requests(title: str) -> None:
    """With `user`, or with the bare word and what says which of them are meant."""
    case = CASES["operations"]
    prose = (
        f"User asked about nightly_etl.\n{case.summary}\n{title}\n- Paint the boardroom walls purple before Christmas"
    )
    grounds = Grounds([case.spoken, case.printed], [case.spoken, "好的。"])
    assert grounded(prose, grounds)[1] == 1


@pytest.mark.parametrize(
    "title",
    [
        "## Open pull requests", "Merge requests:", "HTTP requests:", "Failed requests:", "## Database constraints",
        "Primary key constraints:", "Requests per second:", "Request handling:", "Lookup of pull requests:", "**CPU instructions**",
        "## 拉取请求", "HTTP请求：", "数据库约束：", "## 请求延迟",
    ],
)  # fmt: skip
def test_other_requests_are_not_the_users(title: str) -> None:
    """Of a server, a database or a forge; the words below are a tool's, or the model's own."""
    case = CASES["operations"]
    prose = f"User asked about nightly_etl.\n{case.summary}\n{title}\n- middleware caching upgrade of django sessions"
    assert grounded(prose, case.grounds) == (prose, 0)
    line = f"{case.summary}\n{title.strip('#* :：')} list: adds exponential backoff jitter to webhook retries"
    assert grounded(f"User asked about nightly_etl.\n{line}", case.grounds)[1] == 0


def test_a_line_in_the_words_of_a_tool_stays_below_a_title_of_requests() -> None:
    """All of them: with a word that nobody used it goes."""
    case = CASES["operations"]
    grounds = Grounds([case.spoken, "adds exponential backoff jitter to webhook retries"], [case.spoken])
    prose = f"{case.summary}\n## Open requests\n- exponential backoff jitter of webhook retries"
    assert grounded(prose, grounds) == (prose, 0)
    assert grounded(prose.replace("backoff", "ballroom"), grounds)[1] == 1


@pytest.mark.parametrize(
    "title",
    [
        "# User requests in order", "- **User requests (verbatim, chronological)**", "2. Primary user request and intent:",
        "| 2 | User requests: |", "> ## User demands, newest last", "<item>1. What the user wants overall:</item>",
        '  "user_requests_chronologically": [', '"1. Primary request and intent:",',
    ],
)  # fmt: skip
def test_a_title_asks_for_nothing(title: str) -> None:
    """Its own words are the model's, and stand in no conversation."""
    case = CASES["operations"]
    prose = f"{case.summary}\n{title}\n- rename cust_ref\n- count the rows"
    assert grounded(prose, case.grounds) == (prose, 0)


@pytest.mark.parametrize(
    ("said", "number", "beside", "follows"),
    [
        ("1,234,567 cents", "12,346", (), True), ("65 thousand", "65,000", (), True), ("sixty-five thousand", "65,000", (), True),
        ("六万五千", "65000", (), True), ("72万", "720,000", (), True), ("12,480, 7,020 and 500 bytes", "20,000", (), True),
        ("1,350 a month", "16,200", (1350.0, 12.0), True), ("1,350 a month", "16,300", (1350.0,), False),
        ("1,234,567 cents", "1,234,568", (), False), ("1,930,447 rows, 48,112 lost", "1,882,335", (1930447.0, 48112.0), True),
        ("two hundred", "20,000", (), False), ("seventeen", "17,500", (), False),
        ("1,350 a month", "27,000", (1350.0, 20.0), True), ("1,350 a month", "27,000,000", (1350.0, 20000.0), False),
    ],
)  # fmt: skip
def test_a_number_follows_from_others(said: str, number: str, beside: tuple[float, ...], follows: bool) -> None:
    """Rounded, in another unit, in words, as a sum of neighbours, or by the arithmetic that its statement shows."""
    assert Quantities(said).support(number, beside) is follows


@pytest.mark.parametrize(
    ("said", "value"),
    [
        ("二零二四", 2024), ("一九八四年", 1984), ("二〇二四", 2024), ("八五零零七", 85007), ("二十四", 24), ("一百零五", 105), ("两千零二十四", 2024),
        ("六万五千", 65_000), ("十二", 12), ("一万零五", 10_005), ("nineteen eighty four", 1984),
        ("nineteen eighty-four", 1984), ("twenty twenty four", 2024), ("eighteen twelve", 1812), ("sixty-five thousand", 65_000),
        ("twenty four", 24), ("one hundred and five", 105), ("twelve thirty", 1230), ("nineteen hundred", 1900),
        ("two thousand and twenty four", 2024), ("fifteen hundred and twenty", 1520), ("three hundred and nineteen", 319),
        ("one two three", 123), ("five five five zero one", 55_501), ("five and six", 5),
    ],
)  # fmt: skip
def test_a_number_in_words_is_read_as_it_is_spoken(said: str, value: float) -> None:
    """Digit by digit, or in pairs, where no word for ten or a hundred says otherwise."""
    assert Quantities(said).values[0] == value
